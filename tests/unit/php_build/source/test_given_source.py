"""Sources that the user gives; the trees are small fakes with the two files that name a source of
PHP."""

import hashlib
import random
import subprocess
import tarfile
from pathlib import Path
from typing import Literal

import pytest

from phpdyno.errors import DynoError, UsageError
from phpdyno.php_build.source import given as given_source
from phpdyno.php_build.source.given import API_FILE, VERSION_FILE, read_source, unpacked
from phpdyno.php_build.workshop import DONE, Workshop


def silent(_: str) -> None:
    """Says nothing."""


def fake_source(place: Path, version: str = "8.4.2", api: str = "20240924") -> Path:
    for name, text in ((VERSION_FILE, f'#define PHP_VERSION "{version}"\n'), (API_FILE, f"#define ZEND_MODULE_API_NO {api}\n")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def packed(tmp_path: Path) -> tuple[Path, str]:
    source = fake_source(tmp_path / "php-8.4.2")
    archive = tmp_path / "php-8.4.2.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(source, "php-8.4.2")
    return archive, hashlib.sha256(archive.read_bytes()).hexdigest()


def test_a_directory_is_known_by_its_contents(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", silent)
    source = fake_source(tmp_path / "source")
    found = read_source(source, "", shop)
    assert (found.place, found.version, found.api, found.origin.kind) == (source, "8.4.2", "20240924", "folder")
    assert read_source(source, "", shop) == found
    (source / "more.c").write_text("int more;\n")
    assert read_source(source, "", shop).origin.digest != found.origin.digest


def checkout(place: Path) -> Path:
    """A clean git checkout in which another branch was configured and compiled: git ignores what
    that left."""
    source = fake_source(place)
    (source / ".gitignore").write_text("configure\n*.lo\n")
    commit(source)
    for name in ("configure", "main/main.lo"):
        (source / name).write_text("of another branch")
    return source


def commit(source: Path) -> None:
    git = ["git", "-C", str(source), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() and path.name != DONE}


def test_a_checkout_is_known_by_its_commit_as_long_as_nothing_is_changed(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", silent)
    source = checkout(tmp_path / "source")
    found = read_source(source, "", shop)
    assert (found.origin.kind, len(found.origin.digest)) == ("git", 40)
    assert files(found.place) == {".gitignore", VERSION_FILE, API_FILE}
    assert read_source(source, "", shop) == found
    (source / VERSION_FILE).write_text('#define PHP_VERSION "8.4.3"\n')
    changed = read_source(source, "", shop)
    assert (changed.origin.kind, changed.version) == ("folder", "8.4.3")
    assert files(changed.place) == files(found.place)


def test_what_was_added_to_a_checkout_is_compiled_and_known_and_what_git_ignores_is_neither(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", silent)
    source = checkout(tmp_path / "source")
    clean = read_source(source, "", shop)
    (source / "ext").mkdir()
    (source / "ext" / "more.c").write_text("int more;\n")
    first = read_source(source, "", shop)
    assert (first.origin.kind, files(first.place)) == ("folder", {*files(clean.place), "ext/more.c"})
    (source / "main" / "other.lo").touch()
    assert read_source(source, "", shop) == first
    (source / "ext" / "more.c").write_text("int less;\n")
    assert read_source(source, "", shop).origin.digest != first.origin.digest


def test_a_file_that_is_gone_and_a_repository_in_a_checkout_are_as_they_are_there(tmp_path: Path) -> None:
    source = checkout(tmp_path / "source")
    (source / ".gitignore").unlink()
    (source / "configure").unlink()
    (source / "main" / "main.lo").unlink()
    (source / "ext" / "apcu" / "tests").mkdir(parents=True)
    (source / "ext" / "apcu" / "tests" / "001.phpt").touch()
    commit(source / "ext" / "apcu")
    found = read_source(source, "", Workshop(tmp_path / "cache", silent))
    assert files(found.place) == {VERSION_FILE, API_FILE, "ext/apcu/tests/001.phpt"}


def test_a_tarball_is_unpacked_when_it_is_the_right_one(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", silent)
    archive, checksum = packed(tmp_path)
    found = read_source(archive, f"sha256:{checksum.upper()}", shop)
    assert (found.version, found.origin.kind, found.origin.digest) == ("8.4.2", "archive", checksum)
    assert found.place.is_relative_to(shop.home)
    assert read_source(archive, checksum, shop) == found


@pytest.mark.parametrize(("checksum", "why"), [("", "needs its SHA-256"), ("0" * 64, "this is another file"), ("md5", "needs its SHA-256")])
def test_a_tarball_of_another_checksum_is_refused(tmp_path: Path, checksum: str, why: str) -> None:
    archive, _ = packed(tmp_path)
    with pytest.raises(UsageError, match=why):
        read_source(archive, checksum, Workshop(tmp_path / "cache", silent))
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w:bz2"])
def test_a_tarball_that_is_damaged_is_one_line(tmp_path: Path, mode: Literal["w:gz", "w:xz", "w:bz2"]) -> None:
    source = fake_source(tmp_path / "php-8.4.2")
    (source / "zend.c").write_text(random.Random(1).randbytes(1 << 20).hex())
    archive = tmp_path / "php-8.4.2.tar.packed"
    with tarfile.open(archive, mode) as tar:
        tar.add(source, "php-8.4.2")
    data = bytearray(archive.read_bytes())
    for place in range(len(data) // 2, len(data) // 2 + 4096):
        data[place] ^= 0xFF
    archive.write_bytes(data)
    with pytest.raises(DynoError, match="this tarball cannot be unpacked: "):
        unpacked(archive, "c0de", Workshop(tmp_path / "cache", silent))


@pytest.mark.parametrize("target", ["/etc/hostname", "../../../outside", "sub/up/../.."])
def test_a_tarball_with_a_link_that_leads_outside_is_one_line(tmp_path: Path, target: str) -> None:
    """The last one by another link, which leads inside."""
    source = fake_source(tmp_path / "php-8.4.2")
    (source / "sub").mkdir()
    (source / "sub" / "up").symlink_to("../..")
    (source / "inside").symlink_to("sub")
    (source / "circle").symlink_to("circle")
    archive = tmp_path / "php-8.4.2.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(source, "php-8.4.2")
    shop = Workshop(tmp_path / "cache", silent)
    assert (unpacked(archive, "c0de", shop) / "php-8.4.2" / "inside").readlink() == Path("sub")
    (source / "link").symlink_to(target)
    with tarfile.open(archive, "w") as tar:
        tar.add(source, "php-8.4.2")
    with pytest.raises(DynoError, match=r"php-8.4.2.tar: this tarball cannot be unpacked: its link php-8.4.2/link leads outside$"):
        unpacked(archive, "beef", shop)


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", silent)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").touch()
    for path, checksum, why in (
        (tmp_path / "none", "", "there is no such source"),
        (tmp_path / "empty", "", "no source of PHP"),
        (tmp_path / "empty", "00", "a directory has no checksum"),
        (tmp_path / "text.txt", "", "neither a directory nor a tarball"),
    ):
        with pytest.raises(UsageError, match=why):
            read_source(path, checksum, shop)


def test_a_changed_checkout_is_copied_without_bits_that_give_rights(tmp_path: Path) -> None:
    source = fake_source(tmp_path / "source")
    (source / "configure").write_text("")
    (source / "link").symlink_to("/nowhere")
    (source / "configure").chmod(0o6755)
    place = tmp_path / "copy"
    place.mkdir()
    given_source._copy(source, ["configure", "link", VERSION_FILE], place)
    assert (place / "configure").stat().st_mode & 0o7777 == 0o755
    assert (place / "configure").stat().st_mtime_ns == (source / "configure").stat().st_mtime_ns
    assert (place / "link").readlink() == Path("/nowhere")
