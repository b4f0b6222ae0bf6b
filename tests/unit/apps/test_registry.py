from pathlib import Path

import pytest

from phpdyno.apps.registry import open_app
from phpdyno.errors import UsageError
from phpdyno.model.app import AppSetting
from phpdyno.model.workload import Target

TOML = 'name = "shop"\ndocroot = "public"\n[[target]]\npath = "/"\n'


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "public").mkdir()
    (tmp_path / "app.toml").write_text(TOML)
    return tmp_path


@pytest.fixture
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_built_in_apps() -> None:
    hello, wordpress = open_app("hello"), open_app("wordpress")
    others = open_app("mediawiki"), open_app("symfony-hello")

    assert (hello.name, hello.workload.targets) == ("hello", (Target("/"),))
    assert wordpress.name == "wordpress"
    assert [target.weight for target in wordpress.workload.targets] == [4, 3, 1, 1]
    assert [(app.name, len(app.workload.targets), app.workload.host) for app in others] == [
        ("mediawiki", 5, "localhost"),
        ("symfony-hello", 3, "localhost"),
    ]


@pytest.mark.parametrize(
    ("name", "settings"),
    [("hello", []), ("mediawiki", ["cache", "parser-cache", "l10n"]), ("symfony-hello", ["debug"]), ("wordpress", ["debug"])],
)
def test_settings_of_built_in_apps(name: str, settings: list[str]) -> None:
    found = open_app(name).settings
    assert list(found) == settings
    assert all(setting.default in setting.values for setting in found.values())


def test_settings_of_an_app_toml(shop: Path) -> None:
    (shop / "app.toml").write_text(TOML + '[setting.debug]\nenv = "APP_DEBUG"\nvalues = ["0", "1"]\ndefault = "0"\n')
    assert open_app(str(shop)).settings == {"debug": AppSetting("APP_DEBUG", ("0", "1"), "0")}


def test_an_app_toml_or_its_directory(shop: Path) -> None:
    assert open_app(str(shop)).name == "shop"
    assert open_app(str(shop / "app.toml")).name == "shop"


def test_a_docroot_with_urls(tmp_path: Path) -> None:
    root = tmp_path / "my site"
    root.mkdir()
    app = open_app(docroot=root, urls=["/", "/shop?x=1", "/"])

    assert app.name == "my-site"
    assert app.workload.targets == (Target("/"), Target("/shop?x=1"))
    assert open_app(docroot=root).workload.targets == (Target("/"),)


@pytest.mark.parametrize(
    ("reference", "docroot", "urls", "says"),
    [
        (None, None, [], "no app is named; name a built-in app (hello, mediawiki, symfony-hello, wordpress)"),
        (
            "wordpres",
            None,
            [],
            "wordpres: there is no such app; did you mean wordpress? Else name a built-in app (hello, mediawiki, symfony-hello, wordpress)",
        ),
        ("xyzzy", None, [], "xyzzy: there is no such app; name a built-in app"),
        ("missing/dir", None, [], "missing/dir: there is no such file or directory"),
        ("missing.toml", None, [], "there is no such file"),
        ("~nobodyhere/app.toml", None, [], "the home directory in '~nobodyhere/app.toml' is not known"),
        ("hello", None, ["/"], "--url belongs to --docroot"),
        ("hello", ".", [], "both an app and --docroot"),
        (None, "missing", [], "--docroot missing: there is no such directory"),
        (None, ".", ["shop"], "--url: the path 'shop' does not start with '/'"),
        (None, ".", ["http://localhost/"], "does not start with '/'"),
        (".", None, [], ".: the directory holds no app.toml; write one, or use --docroot ."),
    ],
)
@pytest.mark.usefixtures("empty_directory")
def test_refused(reference: str | None, docroot: str | None, urls: list[str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_app(reference, docroot=Path(docroot) if docroot else None, urls=urls)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TOML.replace("public", "www"), "no such directory"),
        ('sql = "dump.sql"\n' + TOML, "no such SQL dump"),
        ('root = "public/x"\n' + TOML.replace("public", "public/x/y"), "no such directory"),
        ('front_controller = "app.php"\n' + TOML, "no such front controller"),
    ],
)
def test_what_a_file_names_must_exist(shop: Path, text: str, says: str) -> None:
    (shop / "app.toml").write_text(text)
    with pytest.raises(UsageError, match=says) as caught:
        open_app(str(shop))
    assert str(shop / "app.toml") in str(caught.value)
