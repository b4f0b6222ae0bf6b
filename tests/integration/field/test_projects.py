"""A document root, or a script, whose project lies around it: case 07 and others of its kind."""

import shutil
from pathlib import Path

import msgspec
import pytest

from phpdyno.commands.check.found import CheckFound
from tests.support.real.command import FEWEST, fault_of, phpdyno
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration
CASE = Path(__file__).parents[2] / "field_cases/07-docroot-needs-its-parent"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE / "shop", tmp_path / "srv/shop"))


def checked(*arguments: str | Path) -> CheckFound:
    answer = phpdyno("check", *arguments, "--json")
    assert answer.stdout, answer.stderr
    return msgspec.json.decode(answer.stdout, type=CheckFound)


def test_a_document_root_brings_its_project(shop: Path) -> None:
    found = checked("--docroot", shop / "public", "--url", "/")
    assert found.measurable
    assert found.targets[0].status == 200
    assert found.notices == (f"the project is {shop}: public/index.php loads ../vendor; its 2 other directories are copied too",)


def test_a_comparison_says_first_what_was_copied(shop: Path, tmp_path: Path) -> None:
    line = f"the project is {shop}: bench/price.php loads ../vendor; its 2 other directories are copied too"
    options: list[str | Path] = ["--aa", "--verbose", *FEWEST, "--budget", "12s", "--runs", tmp_path / "runs"]
    answer = phpdyno("compare", "--script", shop / "bench/price.php", *options)
    assert answer.returncode == 0, answer.stderr
    assert line in answer.stderr
    # A path that is longer than a line is broken in it.
    assert "".join(line.split()) in "".join(answer.stdout.split())
    assert wait_for_no_traces() == []


def test_an_app_toml_that_forgets_its_root_has_it_found(shop: Path) -> None:
    (shop / "app.toml").write_text('name = "shop"\ndocroot = "public"\n[[target]]\npath = "/"\n')
    assert checked(shop).measurable


def test_a_root_that_is_too_small_is_told_by_its_own_paths(shop: Path) -> None:
    (shop / "app.toml").write_text('name = "shop"\nroot = "public"\ndocroot = "public"\n[[target]]\npath = "/"\n')
    problem = checked(shop).targets[0].problem
    assert f"{shop}/vendor/autoload.php exists, but lies outside what is copied ({shop}/public)" in problem
    assert 'root = ".."' in problem
    assert "/phpdyno-" not in problem


def test_a_place_of_several_sites_is_refused_before_anything_starts(shop: Path) -> None:
    place = shop.parent
    (place / "blog/.git").mkdir(parents=True)
    (place / "lib.php").write_text("<?php")
    (place / "html").mkdir()
    (place / "html/index.php").write_text("<?php require '../lib.php';")
    answer = phpdyno("compare", "--docroot", place / "html", "--aa")
    assert answer.returncode == 2
    assert fault_of(answer.stderr) == (
        f"phpdyno: --docroot {place}/html: html/index.php loads ../lib.php, and {place} holds other sites too (blog, shop); "
        f'to copy it all the same, write an app.toml in {place}/html with root = ".." and docroot = "."'
    )


def test_data_elsewhere_is_missed_by_name_and_taken_along(shop: Path) -> None:
    data = shop.parent.parent / "data"
    (data / "pages").mkdir(parents=True)
    (data / "pages/start.txt").write_text("the page of the wiki")
    name = "d" + "ata"  # what static reading does not see
    (shop / "public/index.php").write_text(
        f"<?php $d = strrev('{str(data.parent)[::-1]}') . '/{name}/pages/start.txt';\n"
        "echo is_file($d) ? file_get_contents($d) : 'no such page';\n@file_put_contents($d . '.seen', '1');\n"
    )
    (shop / "app.toml").write_text('name = "wiki"\nroot = "."\ndocroot = "public"\n[[target]]\npath = "/"\n')
    found = checked(shop)
    assert found.targets[0].body_bytes == len("no such page")
    assert found.reached is not None
    assert [each.path for each in found.reached.missed] == [str(data)]
    assert f'`also = ["{data}"]` in an app.toml takes it along' in phpdyno("check", shop, "--verbose").stdout
    (shop / "app.toml").write_text(f'also = ["{data}"]\n{(shop / "app.toml").read_text()}')
    found = checked(shop)
    assert found.targets[0].body_bytes == len("the page of the wiki")
    assert found.reached is not None
    assert (found.reached.missed, found.reached.writes) == ((), ())
    assert sorted(each.name for each in (data / "pages").iterdir()) == ["start.txt"]
