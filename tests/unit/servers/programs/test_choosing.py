"""Several PHPs beside each other, laid out as Debian's packages and those of third parties do."""

from pathlib import Path

import pytest

from phpdyno.errors import UsageError
from phpdyno.servers.programs.choosing import installed_phps, named_php, others_beside


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("php-fpm8.3", "php-fpm8.4", "php-fpm8.10", "php8.3", "php8.4", "php-config8.4", "phpize8.4"):
        (tmp_path / name).touch(mode=0o755)
    (tmp_path / "php-fpm9.0").touch(mode=0o644)  # cannot be executed
    monkeypatch.setenv("PHPDYNO_PATH", f"{tmp_path}:{tmp_path / 'nothing'}")
    return tmp_path


def test_they_are_known_by_their_names_newest_first(place: Path) -> None:
    assert installed_phps() == {series: str(place / f"php-fpm{series}") for series in ("8.10", "8.4", "8.3")}
    assert list(installed_phps(cli=True)) == ["8.4", "8.3"]


@pytest.mark.parametrize("name", ["8.3", "php-fpm8.3", "php8.3"])
def test_one_is_named_by_its_version_or_its_program(place: Path, name: str) -> None:
    assert named_php(name) == str(place / "php-fpm8.3")
    assert named_php(name, cli=True) == str(place / "php8.3")


def test_a_path_is_left_as_it_is(place: Path) -> None:
    assert named_php("/opt/php/sbin/php-fpm") == "/opt/php/sbin/php-fpm"


def test_other_distributions_write_the_version_without_a_point(place: Path) -> None:
    (place / "php-fpm81").touch(mode=0o755)
    assert named_php("8.1") == str(place / "php-fpm81")


def test_one_that_is_not_there_is_a_line_with_those_that_are(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError) as caught:
        named_php("8.5")
    words = "php=8.5: there is no php-fpm8.5 here; installed are 8.10, 8.4, 8.3: write for instance php=8.10; php8.5-fpm would bring it"
    assert str(caught.value) == words
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match=r"none is installed; php8\.5-cli would bring it"):
        named_php("8.5", cli=True)


def test_what_was_taken_unasked_is_said_where_there_are_others(place: Path) -> None:
    said = others_beside(str(place / "php-fpm8.10"))
    assert said == "PHP 8.10 is measured, the newest of 8.10, 8.4 and 8.3; php=8.4 in a SPEC or --control measures another one"
    assert others_beside("/opt/php/sbin/php-fpm") == ""
    for series in ("8.4", "8.3"):
        (place / f"php-fpm{series}").unlink()
    assert others_beside(str(place / "php-fpm8.10")) == ""
