from pathlib import Path

from phpdyno.model.app import PreparedApp
from phpdyno.model.workload import Workload
from phpdyno.servers.facts.outside import in_own_paths


def prepared(original: Path, **other: object) -> PreparedApp:
    return PreparedApp("shop", Path("/tmp/phpdyno-x/app"), Workload(()), root=Path("/tmp/phpdyno-x/app"), original=original, **other)  # type: ignore[arg-type]


def test_a_file_that_was_not_copied_is_named_by_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "lib.php").touch()
    said = "Failed opening required '/tmp/phpdyno-x/app/../lib.php' in /tmp/phpdyno-x/app/index.php:2"
    told = in_own_paths(said, prepared(tmp_path / "public"))
    assert "/tmp/phpdyno-x" not in told
    assert f"{tmp_path}/lib.php exists, but lies outside what is copied ({tmp_path}/public)" in told
    assert 'root = ".."' in told


def test_a_file_that_is_left_out_is_told(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var/a.json").touch()
    told = in_own_paths("file_get_contents(var/a.json): Failed to open stream: No such file", prepared(tmp_path, left_out=("var",)))
    assert "exclude leaves var out" in told


def test_a_file_that_is_nowhere_says_nothing_of_copies(tmp_path: Path) -> None:
    said = "Failed opening 'none.php' for inclusion"
    assert in_own_paths(said, prepared(tmp_path)) == said
    assert in_own_paths(said, PreparedApp("a", tmp_path, Workload(()))) == said
