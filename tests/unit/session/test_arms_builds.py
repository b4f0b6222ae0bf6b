"""Builds beside a control that is another PHP than they stand in for."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.model.arm import PhpBuild
from phpdyno.model.build import Build
from phpdyno.session import arms, builds, specs
from phpdyno.session.arms import make_arms
from tests.support.made_up.builds import BUILD

PGO = structs.replace(BUILD, name="pgo-1")
PAIR = structs.replace(BUILD, name="o2-1", like="/cache/pair/php-fpm8.2", php_version="8.2.32", stock={"php": "/cache/pair/php-fpm8.2"})
NEWEST = "/usr/sbin/php-fpm8.4"
VERSIONS = {NEWEST: "8.4.16", "/usr/sbin/php-fpm8.2": "8.2.36", "/cache/pair/php-fpm8.2": "8.2.32"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of two builds, and no PHP that is asked."""
    made: dict[str, tuple[Path, Build]] = {each.name: (tmp_path / each.name, each) for each in (PGO, PAIR)}

    def fake_inspect(fpm: str, extension_dir: str | None = None, **_: object) -> PhpBuild:
        version = VERSIONS.get(fpm) or next(each.php_version for place, each in made.values() if fpm == str(place / "php-fpm"))
        return PhpBuild(fpm, version, extension_dir)

    monkeypatch.setattr(specs, "inspect_php", fake_inspect)
    monkeypatch.setattr(specs, "default_fpm", lambda: NEWEST)
    monkeypatch.setattr(builds, "named_build", made.__getitem__)
    monkeypatch.setattr(arms, "finished_builds", lambda: tuple(made.values()))


@pytest.mark.parametrize(
    ("control", "treatment", "said"),
    [
        ("", "build=pgo-1", "PHP 8.4.16 of /usr/sbin/php-fpm8.4"),
        ("build=o2-1", "build=pgo-1", "PHP 8.2.32 of /cache/pair/php-fpm8.2"),
        ("build=o2-1/stock", "build=pgo-1", "PHP 8.2.32 of /cache/pair/php-fpm8.2"),
        ("build=pgo-1/stock", "build=pgo-1", ""),
        ("build=pgo-1", "env.A=1", ""),
        ("", "php=/usr/sbin/php-fpm8.2", ""),
    ],
)
def test_a_build_beside_another_php_than_it_stands_in_for_is_said(control: str, treatment: str, said: str) -> None:
    made = make_arms(control, [treatment, f"{treatment};env.B=1"])
    notice = (
        f"pgo-1 is PHP 8.2.36 and stands in for /usr/sbin/php-fpm8.2, and the control is {said}: they differ in more than the build; "
        "what it stands in for is --control build=pgo-1/stock"
    )
    assert made.mismatches == ((notice,) if said else ())
    assert made.notes == ()
