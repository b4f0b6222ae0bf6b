import stat
from pathlib import Path

from phpdyno.apps.copies import make_readable, tree_digest


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


def test_the_digest_knows_links_to_directories_but_not_where_the_tree_lies(tmp_path: Path) -> None:
    digests = []
    for place, target in (("a", "one"), ("b", "one"), ("b", "two")):
        tree = tmp_path / place
        for name in ("one", "two"):
            (tree / name).mkdir(parents=True, exist_ok=True)
        (tree / "link").unlink(missing_ok=True)
        (tree / "link").symlink_to(tree / target)
        digests.append(tree_digest(tree))

    assert digests[0] == digests[1] != digests[2]
