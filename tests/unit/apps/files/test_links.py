import os
import shutil
import socket
from pathlib import Path

import pytest

from phpdyno.apps.files.links import mend_links
from phpdyno.errors import UsageError


def duplicate(source: Path, place: Path, link: Path) -> None:
    assert link.is_symlink()
    copied(source, place)


def copied(source: Path, place: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True)
    else:
        shutil.copy2(source, place)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """As Capistrano lays an app out: `current` leads to a release, which leads to what all releases
    share."""
    for folder in ("releases/5/public", "releases/5/lib", "shared/storage/app/public"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "shared/storage/app/public/logo.svg").write_text("<svg/>")
    (tmp_path / "shared/.env").write_text("KEY=1")
    (tmp_path / "current").symlink_to(tmp_path / "releases/5")
    return tmp_path / "releases/5"


def mended(release: Path, links: dict[str, str | Path]) -> Path:
    """The copy of a release with these links more."""
    for name, target in links.items():
        (release / name).symlink_to(target)
    copy = release.parent.parent / "copy"
    shutil.copytree(release, copy, symlinks=True)
    mend_links(copy, release.parent.parent / "current", duplicate)
    return copy


def test_links_into_the_source_lead_into_the_copy(release: Path) -> None:
    top = release.parent.parent
    links: dict[str, str | Path] = {
        "public/inside": "../lib",
        "public/absolute": release / "lib",
        "public/by_alias": top / "current" / "lib",
        "public/around": "../../5/lib",
        "public/chain": "absolute",
        "public/dangling": "nothing",
    }
    copy = mended(release, links)

    assert {name: str((copy / name).readlink()) for name in links} == {
        "public/inside": "../lib",
        "public/absolute": str(copy / "lib"),
        "public/by_alias": str(copy / "lib"),
        "public/around": str(copy / "lib"),
        "public/chain": "absolute",
        "public/dangling": "nothing",
    }
    assert (release / "public/absolute").readlink() == release / "lib"


def test_what_links_out_of_the_root_lead_to_is_copied_once_and_never_written(release: Path) -> None:
    top = release.parent.parent
    links: dict[str, str | Path] = {
        "storage": top / "shared/storage",
        "a-second": "../../shared/storage",
        ".env": top / "shared/.env",
        "public/storage": "../storage/app/public",
        "public/logo.svg": top / "shared/storage/app/public/logo.svg",
    }
    copy = mended(release, links)

    assert all((copy / name).resolve().is_relative_to(copy) for name in links)
    (copy / "storage/app/public/new").write_text("written through one link")
    assert (copy / "public/storage/new").read_text() == (copy / "a-second/app/public/new").read_text() == "written through one link"
    (copy / ".env").write_text("KEY=2")
    (copy / "public/logo.svg").write_text("")
    assert (top / "shared/.env").read_text() == "KEY=1"
    assert (top / "shared/storage/app/public/logo.svg").read_text() == "<svg/>"
    assert [path.name for path in (top / "shared/storage/app/public").iterdir()] == ["logo.svg"]


def test_links_in_what_was_copied_are_mended_too_and_loops_end(release: Path) -> None:
    top = release.parent.parent
    (top / "plugins/seo").mkdir(parents=True)
    (top / "plugins/seo/back").symlink_to(top / "current/lib")
    (top / "plugins/seo/again").symlink_to("../seo")
    (top / "plugins/seo/up").symlink_to("..")
    (top / "plugins/seo/env").symlink_to("../../shared/.env")
    (top / "round").symlink_to(top / "round2")
    (top / "round2").symlink_to(top / "round")
    copy = mended(release, {"seo": top / "plugins/seo", "round": top / "round", "self": "self"})

    seo = copy / "seo"
    assert (seo / "back").resolve() == copy / "lib"
    assert (seo / "again").resolve() == seo
    assert (seo / "up/seo/again").resolve().is_relative_to(copy)
    assert (seo / "env").read_text() == "KEY=1"
    assert (seo / "env").resolve().is_relative_to(copy)
    assert not (copy / "round").is_symlink()


def test_a_link_out_of_the_root_to_nothing_is_removed(release: Path) -> None:
    top = release.parent.parent
    copy = mended(release, {"gone": top / "gone", "public/gone": "../../../gone", "a": "gone"})

    (copy / "gone").write_text("made by the app")
    assert not (top / "gone").exists()
    assert not (copy / "public/gone").is_symlink()
    assert (copy / "a").read_text() == "made by the app"


def test_links_to_devices_stay(release: Path) -> None:
    copy = mended(release, {"log": "/dev/stderr", "null": "../../../../../../../../../../../dev/null", "out": "/proc/self/fd/1"})

    assert [str((copy / name).readlink()) for name in ("log", "out")] == ["/dev/stderr", "/proc/self/fd/1"]
    assert Path(os.path.normpath(copy / (copy / "null").readlink())) == Path("/dev/null")


@pytest.mark.parametrize("target", ["/", "/usr", "/usr/share", "/tmp", "/home", "/proc", "/proc/self", "/sys/kernel", "/dev", "/dev/shm"])
def test_whole_system_trees_are_refused(release: Path, target: str) -> None:
    with pytest.raises(UsageError, match="too much to copy") as caught:
        mended(release, {"public/system": target})
    assert str(caught.value).startswith(f"{release}/public/system: this link leads to {target}")


@pytest.mark.parametrize("target", ["../..", "../../releases", "../../mine"])
def test_a_directory_that_holds_the_root_is_refused(release: Path, target: str) -> None:
    (release.parent.parent / "mine").symlink_to("releases")
    with pytest.raises(UsageError, match="which holds the app's root; let root be that directory") as caught:
        mended(release, {"above": target})
    assert str(caught.value).startswith(f"{release}/above: ")


def test_a_link_to_a_socket_is_refused(release: Path) -> None:
    place = release.parent.parent / "mysql.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        with pytest.raises(UsageError, match="neither file nor directory"):
            mended(release, {"db": place})
