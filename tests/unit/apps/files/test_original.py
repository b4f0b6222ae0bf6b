import os
import time
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.apps.files.original import change_of, changed_since
from phpdyno.model.app import PreparedApp
from phpdyno.model.workload import Target, Workload


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("src/page.php", "var/log/app.log", "runs/1"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def since() -> int:
    """A moment that the file system's own clock, which ticks, is past before and after."""
    time.sleep(0.02)
    now = time.time_ns()
    time.sleep(0.02)
    return now


def app(root: Path, begun_ns: int) -> PreparedApp:
    workload = Workload((Target("/"),), "localhost")
    return PreparedApp("shop", root, workload, root=root, original=root, begun_ns=begun_ns, left_out=("runs",))


def test_nothing_changed(root: Path) -> None:
    assert change_of(app(root, since())) == ""


def test_an_app_without_files_elsewhere_is_not_looked_at(root: Path) -> None:
    assert change_of(structs.replace(app(root, 1), original=None)) == ""


@pytest.mark.parametrize("how", ["written", "made", "removed", "renamed", "rights", "old times"])
def test_every_change_is_seen(root: Path, how: str) -> None:
    moment = since()
    page = root / "src/page.php"
    if how == "written":
        page.write_text("y")
    elif how == "made":
        (root / "src/new.php").touch()
    elif how == "removed":
        page.unlink()
    elif how == "renamed":
        page.rename(root / "src/other.php")
    elif how == "rights":
        page.chmod(0o600)
    else:
        page.write_text("y")
        os.utime(page, (0, 0))
    assert "src" in change_of(app(root, moment))


def test_what_is_left_out_may_change_and_code_is_named_first(root: Path) -> None:
    moment = since()
    (root / "runs/1").write_text("y")
    assert change_of(app(root, moment)) == ""
    (root / "a.log").touch()
    (root / "src/page.php").write_text("y")
    assert sorted(changed_since(root, moment, frozenset({"runs"}))) == ["a.log", "src/page.php"]
    assert change_of(app(root, moment)).startswith(f"{root}/src/page.php and 1 more changed meanwhile: measured was the state before")
    overlaid = structs.replace(app(root, moment), written=root)
    assert change_of(overlaid).endswith("may differ by that")
