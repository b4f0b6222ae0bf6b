"""A tree whose cached configuration holds its own absolute paths: nothing of the original is
read or written (field case 12)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from phpdyno.servers.programs.php import default_cli
from tests.support.field import FIELD_CASES
from tests.support.real.command import FEWEST, phpdyno

CASE = FIELD_CASES / "12-cached-config-has-live-paths" / "app"
pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("bottled")]


def deployed(root: Path, *, known_as: Path) -> None:
    """A copy of the case that was deployed as `known_as`, with directories that anybody may write
    to, as so many deployments have them."""
    shutil.copytree(CASE, root)
    for folder in ("bootstrap/cache", "storage/views", "storage/logs"):
        (root / folder).mkdir(parents=True)
        (root / folder).chmod(0o777)
    if known_as != root:
        known_as.symlink_to(root)
    subprocess.run([default_cli(), str(known_as / "deploy.php")], check=True)
    cached = (root / "bootstrap/cache/config.php").read_text()
    assert str(root if known_as == root else root.resolve()) in cached


def state_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("link", [False, True], ids=["at its path", "by a link to a release"])
def test_the_original_is_neither_written_nor_run(tmp_path: Path, *, link: bool) -> None:
    tmp_path.chmod(0o755)
    root = tmp_path / "release-5"
    known_as = tmp_path / "current" if link else root
    deployed(root, known_as=known_as)
    before = state_of(root)
    answer = phpdyno("compare", known_as / "app.toml", "--aa", *FEWEST, "--budget", "15s", "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stderr
    assert state_of(root) == before
