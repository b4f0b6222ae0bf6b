"""Programs are looked for in every directory of PATH that may be looked into."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.servers.programs.finding import newest_program


def test_a_directory_of_path_that_is_closed_to_us_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("php8.2", "php8.10"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).touch()
    closed, glob = tmp_path / "closed", Path.glob

    def refusing(place: Path, pattern: str) -> Iterator[Path]:
        if place == closed:
            raise PermissionError(13, "Permission denied", str(place))
        return glob(place, pattern)

    monkeypatch.setattr(Path, "glob", refusing)
    monkeypatch.setenv("PHPDYNO_PATH", f"{closed}:{tmp_path / 'bin'}")
    assert newest_program("php[0-9]*.[0-9]*") == str(tmp_path / "bin" / "php8.10")
    assert newest_program("php-nobody-has*") is None
