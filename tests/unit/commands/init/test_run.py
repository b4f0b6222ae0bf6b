"""The file that `phpdyno init` writes: read again, without a secret, never over another."""

import tomllib
from pathlib import Path

import pytest

from phpdyno.commands.common.options import RequestOptions
from phpdyno.commands.init.command import run as init
from phpdyno.commands.init.found import AppFound, Configuration, ProjectLayout
from phpdyno.commands.init.run import look_at, missing_dumps, place_for, write_app_toml
from phpdyno.commands.init.words import said, toml_text
from phpdyno.config.app_toml import load_app_toml
from phpdyno.errors import UsageError
from phpdyno.model.workload import Target
from tests.unit.commands.init.trees import LARAVEL, TREES, WORDPRESS, plant


@pytest.mark.parametrize("name", TREES)
def test_the_file_is_one_that_phpdyno_reads_and_holds_no_secret(tmp_path: Path, name: str) -> None:
    files, framework, docroot = TREES[name]
    found = look_at(plant(tmp_path / name, files))
    text = toml_text(found, place_for(found, None))
    write_app_toml(text, tmp_path / name / "app.toml", force=False)
    app = load_app_toml(tmp_path / name / "app.toml")
    assert (app.name, app.root, app.docroot) == (name, tmp_path / name, tmp_path / name / docroot)
    assert len(app.services) == len(found.configuration.services)
    assert "hunter2" not in text
    assert "base64:" not in text
    assert framework in said(found, tmp_path / "app.toml")


def test_a_file_that_is_there_stays_unless_it_is_forced(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_app_toml("new", tmp_path / "app.toml", force=False)
    assert (tmp_path / "app.toml").read_text() == "mine"
    write_app_toml("new", tmp_path / "app.toml", force=True)
    assert (tmp_path / "app.toml").read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["app.toml"]


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "app.toml").symlink_to("precious")
    write_app_toml("new", tmp_path / "app.toml", force=True)
    assert (tmp_path / "precious").read_text() == "kept"
    assert not (tmp_path / "app.toml").is_symlink()


def test_another_place_has_its_own_relative_paths(tmp_path: Path) -> None:
    found = look_at(plant(tmp_path / "shop", LARAVEL))
    (tmp_path / "bench").mkdir()
    place = place_for(found, tmp_path / "bench/shop.toml")
    write_app_toml(toml_text(found, place), place, force=False)
    app = load_app_toml(place)
    assert (app.root, app.docroot) == (tmp_path / "shop", tmp_path / "shop/public")
    assert app.services[0].dump == tmp_path / "shop.sql.gz"


def test_without_its_dump_the_commands_are_told_and_nothing_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path / "shop", WORDPRESS)
    assert init(tmp_path / "shop", log=RequestOptions(), output=None, force=False, print_only=False, check=True) == 0
    told = capsys.readouterr().out
    assert f"| gzip > {tmp_path}/shop.sql.gz" in told
    assert f"phpdyno check {tmp_path}/shop/app.toml" in told
    (tmp_path / "shop.sql.gz").touch()
    assert missing_dumps(look_at(tmp_path / "shop")) == ()


def test_printing_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path / "shop", LARAVEL)
    assert init(tmp_path / "shop", log=RequestOptions(), output=None, force=False, print_only=True, check=True) == 0
    assert 'docroot = "public"' in capsys.readouterr().out
    assert not (tmp_path / "shop/app.toml").exists()


def test_targets_come_from_an_access_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path / "shop", LARAVEL)
    line = '192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET {} HTTP/1.1" 200 2326 "-" "-"\n'
    (tmp_path / "access.log").write_text(line.format("/items/7") * 3 + line.format("/"))
    log = RequestOptions(from_log=tmp_path / "access.log")
    assert init(tmp_path / "shop", log=log, output=None, force=False, print_only=True, check=False) == 0
    told = capsys.readouterr().out
    assert 'path = "/items/7"\nweight = 3' in told
    assert f"# from the access log {tmp_path}/access.log" in told


def test_what_the_app_s_files_say_never_becomes_a_line_of_its_own(tmp_path: Path) -> None:
    remark = 'MAGE_MODE is x\nprepare = ["sh", "-c", "id"]\n#'
    layout = ProjectLayout("Magento 2", tmp_path, tmp_path)
    found = AppFound(
        name="shop\u2028", layout=layout, configuration=Configuration(remarks=(remark,)), targets=(Target("/"),), targets_from=""
    )
    told = tomllib.loads(toml_text(found, tmp_path / "app.toml"))
    assert "prepare" not in told
    assert told["name"] == "shop\u2028"
