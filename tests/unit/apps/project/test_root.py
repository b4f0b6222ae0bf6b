"""The project that a document root or a script belongs to."""

import os
from pathlib import Path

import pytest

from phpdyno.apps.folder import FolderApp
from phpdyno.apps.project import limits, root
from phpdyno.apps.project.root import ProjectRoot, find_root
from phpdyno.apps.registry import open_app
from phpdyno.errors import UsageError

LAYOUTS: dict[str, tuple[dict[str, str], str, str]] = {
    "Laravel": (
        {
            "public/index.php": "<?php if (file_exists($m = __DIR__.'/../storage/framework/maintenance.php')) { require $m; }\n"
            "require __DIR__.'/../vendor/autoload.php'; $app = require_once __DIR__.'/../bootstrap/app.php';",
            "vendor/autoload.php": "<?php",
            "bootstrap/app.php": "<?php return 1;",
        },
        "public",
        "public/index.php loads ../vendor",
    ),
    "Symfony": (
        {"public/index.php": "<?php require_once dirname(__DIR__).'/vendor/autoload_runtime.php';", "vendor/autoload_runtime.php": "<?php"},
        "public",
        "public/index.php loads ../vendor",
    ),
    "Drupal": (
        {
            "web/index.php": "<?php $autoloader = require_once 'autoload.php';",
            "web/autoload.php": "<?php return require __DIR__ . '/../vendor/autoload.php';",
            "vendor/autoload.php": "<?php",
        },
        "web",
        "web/autoload.php loads ../vendor",
    ),
    "Magento": (
        {"pub/index.php": "<?php try { require __DIR__ . '/../app/bootstrap.php'; } catch (Exception $e) {}", "app/bootstrap.php": "<?php"},
        "pub",
        "pub/index.php names ../app",
    ),
    "Yii advanced": (
        {
            "frontend/web/index.php": "<?php require __DIR__ . '/../../vendor/autoload.php';",
            "vendor/autoload.php": "<?php",
            "frontend/config/main.php": "<?php",
        },
        "frontend/web",
        "web/index.php loads ../../vendor/autoload.php",
    ),
    "CodeIgniter": (
        {
            "public/index.php": "<?php define('FCPATH', __DIR__ . DIRECTORY_SEPARATOR); require FCPATH . '../app/Config/Paths.php';",
            "app/Config/Paths.php": "<?php",
        },
        "public",
        "public/index.php loads ../app/Config/Paths.php",
    ),
    "Laminas": (
        {"public/index.php": "<?php chdir(dirname(__DIR__)); require 'vendor/autoload.php';", "vendor/autoload.php": "<?php"},
        "public",
        "public/index.php loads ../vendor",
    ),
    "Zend 1": (
        {
            "public/index.php": "<?php defined('A') || define('A', realpath(dirname(__FILE__) . '/../application'));\n"
            "require_once 'Zend/Application.php'; $x = new Zend_Application('p', A . '/configs/application.ini');",
            "application/configs/application.ini": "[production]",
        },
        "public",
        "public/index.php names ../application",
    ),
    "by a file beside": ({"htdocs/index.php": "<?php echo 1;", "composer.json": "{}"}, "htdocs", "composer.json lies there"),
    "a file of data": (
        {"www/index.php": "<?php $c = parse_ini_file('../config.ini');", "config.ini": "a=1"},
        "www",
        "www/index.php names ../config.ini",
    ),
    "in another entry": (
        {"www/index.php": "<?php echo 1;", "www/api.php": "<?php include '../lib/api.php';", "lib/api.php": "<?php"},
        "www",
        "www/api.php loads ../lib",
    ),
    "two steps on": (
        {
            "shop/public/index.php": "<?php require '../init.php';",
            "shop/init.php": "<?php require dirname(__FILE__, 2) . '/shared/lib.php';",
            "shared/lib.php": "<?php",
        },
        "shop/public",
        "/shared/lib.php",
    ),
}


def laid_out(top: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def found(docroot: Path) -> ProjectRoot | None:
    return find_root(docroot, "index.php", where="--docroot")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A directory like /srv/shop: what pytest keeps beside is in none of its parents."""
    (tmp_path / "srv/shop").mkdir(parents=True)
    return tmp_path / "srv/shop"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_root_holds_what_the_front_controller_loads(top: Path, layout: str) -> None:
    files, docroot, why = LAYOUTS[layout]
    laid_out(top, files)
    known = found(top / docroot)
    assert known is not None
    assert (known.root, known.docroot) == (top, top / docroot)
    assert known.words.startswith(f"the project is {top}: ")
    assert why in known.words


@pytest.mark.parametrize(
    "files",
    [
        {"public/index.php": "<?php require __DIR__ . '/inc/a.php';", "public/inc/a.php": "<?php", "other/x.php": "<?php"},
        {
            "public/index.php": "<?php // require '../lib/a.php';\n# ../lib\n/* require '../lib/a.php'; */ echo \"../lib/a.php\";",
            "lib/a.php": "",
        },
        {"public/index.php": "<p>require '../lib/a.php'</p>", "lib/a.php": "<?php"},
        {"public/index.php": "<?php require '../none/a.php';"},
        {"public/index.php": "<?php require '/usr/share/php/x.php'; readfile('/dev/null');"},
        {"public/index.php": "<?php echo 1;", "public/composer.json": "{}", "composer.json": "{}"},
        {"public/wp-load.php": "<?php file_exists(dirname(__DIR__) . '/wp-config.php');", "public/wp-config.php": "", "wp-config.php": ""},
    ],
)
def test_what_loads_nothing_from_outside_is_its_own_root(top: Path, files: dict[str, str]) -> None:
    laid_out(top, files)
    assert found(top / "public") is None


def test_a_configuration_above_wordpress_is_copied_with_it(top: Path) -> None:
    load = "<?php define('ABSPATH', __DIR__ . '/'); if (@file_exists(dirname(ABSPATH) . '/wp-config.php')) {}"
    laid_out(top, {"html/wp-load.php": load, "wp-config.php": "<?php"})
    assert (known := found(top / "html")) is not None
    assert known.root == top


def test_a_link_to_the_document_root_leads_to_its_project(top: Path, tmp_path: Path) -> None:
    laid_out(top, LAYOUTS["Symfony"][0])
    (tmp_path / "html").symlink_to(top / "public")
    (tmp_path / "current").symlink_to(top)
    assert (by_link := found(tmp_path / "html")) is not None
    assert (by_link.root, by_link.docroot) == (top, top / "public")
    assert (above := found(tmp_path / "current/public")) is not None
    assert (above.root, above.docroot) == (tmp_path / "current", tmp_path / "current/public")


def test_a_library_behind_a_link_is_no_reason_for_more(top: Path, tmp_path: Path) -> None:
    laid_out(tmp_path / "shared", {"vendor/autoload.php": "<?php require __DIR__ . '/real.php';", "vendor/real.php": "<?php"})
    laid_out(top, {"public/index.php": "<?php require __DIR__ . '/vendor/autoload.php';"})
    (top / "public/vendor").symlink_to(tmp_path / "shared/vendor")
    assert found(top / "public") is None


def test_a_directory_of_several_sites_is_refused_in_a_line(top: Path) -> None:
    laid_out(
        top, {"html/index.php": "<?php require '../shared/a.php';", "shared/a.php": "", "blog/wp-config.php": "", "wiki/.git/HEAD": ""}
    )
    with pytest.raises(UsageError) as told:
        found(top / "html")
    assert "html/index.php loads ../shared" in str(told.value)
    assert "holds other sites too (blog, wiki)" in str(told.value)
    assert 'root = ".."' in str(told.value)


def test_what_may_only_be_loaded_refuses_nothing(top: Path) -> None:
    laid_out(top, {"html/index.php": "<?php if ($x) { require '../shared/a.php'; }", "shared/a.php": "", "blog/wp-config.php": ""})
    assert found(top / "html") is None


def test_a_home_directory_is_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out(top, {"public_html/index.php": "<?php require '../lib/a.php';", "lib/a.php": "", "composer.json": "{}"})
    monkeypatch.setenv("HOME", str(top))
    with pytest.raises(UsageError, match="is a home directory"):
        found(top / "public_html")


def test_gigabytes_are_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out(top, {**LAYOUTS["Symfony"][0], "data/large": "x" * 10_000})
    monkeypatch.setattr(limits, "MOST_BYTES", 9_000)
    with pytest.raises(UsageError, match="is larger than"):
        found(top / "public")


def test_the_files_of_another_account_are_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out(top, LAYOUTS["Symfony"][0])
    monkeypatch.setattr(root, "_of_another", lambda *_: "belongs to another account")
    with pytest.raises(UsageError, match="belongs to another account"):
        found(top / "public")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_copies_what_another_account_s_php_names_only_where_it_is_that_account_s(top: Path) -> None:
    laid_out(top, LAYOUTS["Symfony"][0])
    os.chown(top / "public", 4242, 4242)
    with pytest.raises(UsageError, match="belongs to another account"):
        found(top / "public")
    os.chown(top, 4242, 4242)
    assert found(top / "public") is not None


def test_a_script_belongs_to_the_project_that_it_loads(top: Path) -> None:
    laid_out(top, {"bench/price.php": "<?php require __DIR__ . '/../vendor/autoload.php'; return fn() => 1;", "vendor/autoload.php": ""})
    assert (known := find_root(top / "bench", "price.php", where="--script", alone=True)) is not None
    assert (known.root, known.docroot) == (top, top / "bench")


def test_an_app_toml_without_a_root_has_the_project_s(top: Path) -> None:
    laid_out(top, {**LAYOUTS["Laravel"][0], "app.toml": 'name = "shop"\ndocroot = "public"\n[[target]]\npath = "/"\n'})
    app = open_app(str(top))
    assert isinstance(app, FolderApp)
    assert app.described.root == top
    assert app.described.notices


@pytest.mark.parametrize("line", ['root = "public"', 'exclude = ["cache"]'])
def test_an_app_toml_that_says_what_is_copied_is_obeyed(top: Path, line: str) -> None:
    laid_out(top, {**LAYOUTS["Laravel"][0], "app.toml": f'name = "shop"\ndocroot = "public"\n{line}\n[[target]]\npath = "/"\n'})
    app = open_app(str(top))
    assert isinstance(app, FolderApp)
    assert app.described.root == top / "public"
