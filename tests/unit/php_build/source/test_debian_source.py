"""Asking the archive for sources, with what the system says of archives and proxies now."""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.errors import DynoError
from phpdyno.php_build.source import debian as module
from phpdyno.php_build.source.apt_lists import private_options
from phpdyno.php_build.source.asked_before import RECENT_S
from phpdyno.php_build.source.debian import SourceArchive, candidates
from phpdyno.servers.supervision.supervisor import Supervisor


class FakeApt:
    """A supervisor under which apt does nothing, and well; or fails, saying `fault`."""

    def __init__(self) -> None:
        self.env: list[object] = []
        self.ran: list[str] = []
        self.fault = ""

    def run(self, name: str, *_: object, env: object = None, **__: object) -> SimpleNamespace:
        self.ran.append(name)
        self.env.append(env)
        return SimpleNamespace(status=100 if self.fault else 0, tail=lambda _: self.fault, log="log")


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


@pytest.fixture
def archive(tmp_path: Path, apt: FakeApt) -> Callable[[], SourceArchive]:
    """Each one as another command would have it."""
    (tmp_path / "etc" / "sources.list").write_text("deb mirror:/a stable main\n")
    return lambda: SourceArchive(tmp_path / "apt", cast(Supervisor, apt))


def refused(archive: SourceArchive, into: Path) -> str:
    with pytest.raises(DynoError) as caught:
        archive.unpack("php8.2", "8.2.36-1", into)
    return str(caught.value)


def test_what_was_answered_a_moment_ago_is_not_asked_again(
    tmp_path: Path, apt: FakeApt, archive: Callable[[], SourceArchive], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = archive()
    first.refresh()
    apt.fault = "E: Failed to fetch php8.2_8.2.36-1.dsc  404  Not Found"
    why = refused(first, tmp_path / "source")
    second = archive()
    second.refresh()
    assert refused(second, tmp_path / "source") == why
    assert apt.ran == ["build-apt-lists", "build-apt-source"]
    later = time.time() + RECENT_S
    monkeypatch.setattr(time, "time", lambda: later)
    apt.fault = ""
    third = archive()
    third.refresh()
    assert "fetched no source" in refused(third, tmp_path / "source")
    assert apt.ran == ["build-apt-lists", "build-apt-source"] * 2


def test_other_archives_are_asked_at_once(tmp_path: Path, apt: FakeApt, archive: Callable[[], SourceArchive]) -> None:
    archive().refresh()
    (tmp_path / "etc" / "sources.list").write_text("deb mirror:/b stable main\n")
    archive().refresh()
    assert apt.ran == ["build-apt-lists"] * 2


def test_a_network_that_fails_is_asked_again(tmp_path: Path, apt: FakeApt, archive: Callable[[], SourceArchive]) -> None:
    apt.fault = "Could not resolve 'mirror'"
    with pytest.raises(DynoError, match="resolve"):
        archive().refresh()
    apt.fault = ""
    again = archive()
    again.refresh()
    apt.fault = "Could not connect to mirror"
    refused(again, tmp_path / "source")
    later = archive()
    later.refresh()
    refused(later, tmp_path / "source")
    assert apt.ran == ["build-apt-lists"] * 2 + ["build-apt-source"] * 2


def test_an_archive_without_a_signature_is_refused_though_the_host_allows_it(tmp_path: Path) -> None:
    """By the real apt; one that is trusted by hand is believed."""
    if shutil.which("apt-get") is None:
        pytest.skip("there is no apt here")
    archive, place, allowing = tmp_path / "archive", tmp_path / "apt", tmp_path / "apt.conf"
    archive.mkdir()
    (archive / "Sources").touch()
    (archive / "Release").write_text("Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n " + hashlib.sha256(b"").hexdigest() + " 0 Sources\n")
    for name in ("lists.d", "lists/partial", "cache/archives/partial"):
        (place / name).mkdir(parents=True)
    allowing.write_text('Acquire::AllowInsecureRepositories "true";\nAPT::Get::AllowUnauthenticated "true";\n')

    def update(options: str) -> subprocess.CompletedProcess[str]:
        (place / "lists.d" / "own.list").write_text(f"deb-src {options} file:{archive} ./\n")
        argv = ["apt-get", *private_options(place), "update", "--error-on=any"]
        env = {**os.environ, "APT_CONFIG": str(allowing), "LC_ALL": "C"}
        return subprocess.run(argv, check=False, capture_output=True, text=True, env=env)

    refused = update("")
    assert refused.returncode != 0
    assert "is not signed" in refused.stderr
    assert update("[trusted=yes]").returncode == 0


def test_what_is_nearest_is_tried_first_and_what_is_older_before_what_is_newer() -> None:
    listed = ("8.2.36-1", "8.2.28-1", "8.2.30-1~deb12u1", "8.2.29-1", "8.2.33-1", "8.2.36-1")
    assert candidates("8.2.30-1~deb12u1", listed) == ("8.2.30-1~deb12u1", "8.2.29-1", "8.2.28-1", "8.2.33-1", "8.2.36-1")
    assert candidates("8.2.30-1", ("8.2.36-1",)) == ("8.2.30-1", "8.2.36-1")
