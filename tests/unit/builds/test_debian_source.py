"""Asking the archive for sources, with what the system says of archives and proxies now."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.build import debian_source as module
from phpdyno.build.debian_source import SourceArchive, candidates
from phpdyno.stack.supervise import Supervisor


class FakeApt:
    """A supervisor under which apt does nothing, and well."""

    def __init__(self) -> None:
        self.env: list[object] = []

    def run(self, *_: object, env: object = None, **__: object) -> SimpleNamespace:
        self.env.append(env)
        return SimpleNamespace(status=0)


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeApt:
    (tmp_path / "etc").mkdir()
    monkeypatch.setattr(module, "SYSTEM_LISTS", tmp_path / "etc")
    monkeypatch.setattr(module, "find_program", lambda name: name)
    return FakeApt()


def test_an_archive_that_the_system_has_no_more_is_not_asked_any_more(tmp_path: Path, apt: FakeApt) -> None:
    folder = tmp_path / "etc" / "sources.list.d"
    folder.mkdir()
    (tmp_path / "etc" / "sources.list").write_text("deb mirror:/a stable main\n")
    (folder / "gone.list").write_text("deb mirror:/gone stable main\n")
    archive = SourceArchive(tmp_path / "apt", cast(Supervisor, apt))
    archive.refresh()
    lists = tmp_path / "apt" / "lists.d"
    assert sorted(path.name for path in lists.iterdir()) == ["gone.list", "sources.list"]
    (folder / "gone.list").unlink()
    archive.refresh()
    assert [path.name for path in lists.iterdir()] == ["sources.list"]


def test_sources_come_through_the_same_proxy_as_binaries(tmp_path: Path, apt: FakeApt, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etc" / "sources.list").write_text("deb mirror:/a stable main\n")
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    SourceArchive(tmp_path / "apt", cast(Supervisor, apt)).refresh()
    (env,) = apt.env
    assert isinstance(env, dict)
    assert env["https_proxy"] == "http://proxy:3128"
    assert all(name.lower().endswith("_proxy") for name in env)


def test_what_is_nearest_is_tried_first_and_what_is_older_before_what_is_newer() -> None:
    listed = ("8.2.36-1", "8.2.28-1", "8.2.30-1~deb12u1", "8.2.29-1", "8.2.33-1", "8.2.36-1")
    assert candidates("8.2.30-1~deb12u1", listed) == ("8.2.30-1~deb12u1", "8.2.29-1", "8.2.28-1", "8.2.33-1", "8.2.36-1")
    assert candidates("8.2.30-1", ("8.2.36-1",)) == ("8.2.30-1", "8.2.36-1")
