import shutil
import stat
from pathlib import Path

from phpdyno.apps.copies import make_readable, mend_links, tree_digest


def test_links_into_the_source_lead_into_the_copy(tmp_path: Path) -> None:
    source, copy = tmp_path / "releases" / "5", tmp_path / "copy"
    (source / "public").mkdir(parents=True)
    (source / "storage").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "current").symlink_to(source)
    links = {
        "public/inside": Path("../storage"),
        "public/absolute": source / "storage",
        "public/by_alias": tmp_path / "current" / "storage",
        "public/outside": Path("../../../lib"),
        "public/elsewhere": Path("/usr/share"),
        "public/dangling": Path("nothing"),
    }
    for name, target in links.items():
        (source / name).symlink_to(target)
    shutil.copytree(source, copy, symlinks=True)

    mend_links(copy, tmp_path / "current")

    led_to = {name: (copy / name).readlink() for name in links}
    assert led_to == {
        "public/inside": Path("../storage"),
        "public/absolute": copy / "storage",
        "public/by_alias": copy / "storage",
        "public/outside": tmp_path / "lib",
        "public/elsewhere": Path("/usr/share"),
        "public/dangling": Path("nothing"),
    }
    assert (source / "public/absolute").readlink() == source / "storage"


def test_readable_for_all_and_writable_for_us(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "file.php").touch()
    (tree / "a" / "file.php").chmod(0o620)
    (tree / "a").chmod(0o770)
    (tree / "link").symlink_to("/nowhere")

    make_readable(tree)

    assert stat.S_IMODE((tree / "a" / "file.php").stat().st_mode) == 0o644
    assert stat.S_IMODE((tree / "a").stat().st_mode) == 0o755
    assert stat.S_IMODE(tree.stat().st_mode) == 0o755


def test_the_digest_changes_with_names_contents_and_links(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.php").write_text("1")
    digests = [tree_digest(tmp_path)]
    assert tree_digest(tmp_path) == digests[0]
    (tmp_path / "b" / "x.php").write_text("2")
    digests.append(tree_digest(tmp_path))
    (tmp_path / "b" / "x.php").rename(tmp_path / "b" / "y.php")
    digests.append(tree_digest(tmp_path))
    (tmp_path / "z").symlink_to("b/y.php")
    digests.append(tree_digest(tmp_path))
    (tmp_path / "z").unlink()
    (tmp_path / "z").symlink_to("b/x.php")
    digests.append(tree_digest(tmp_path))

    assert len(set(digests)) == 5
