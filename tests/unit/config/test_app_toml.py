from pathlib import Path

import pytest

from phpdyno.config.app_toml import load_app_toml
from phpdyno.errors import UsageError
from phpdyno.model.app import AppSetting
from phpdyno.model.workload import Target

BASE = 'name = "shop"\ndocroot = "public"\nroot = "."\n'
TARGET = '[[target]]\npath = "/"\n'
SETTING = '[setting.debug]\nenv = "APP_DEBUG"\nvalues = [0, 1]\ndefault = 0\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "app.toml"
    path.write_text(text)
    return path


def refusal(tmp_path: Path, text: str) -> str:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_app_toml(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_everything(tmp_path: Path) -> None:
    app = load_app_toml(
        write(
            tmp_path,
            BASE
            + 'front_controller = "app.php"\nhost = "shop.test:8080"\nsql = "dump.sql.gz"\ndatabase = "shop-1"\n'
            + 'prepare = ["php", "bin/console", "cache:warmup"]\n'
            + '[env]\nDSN = "mysql:unix_socket={db_socket}"\nDEBUG = false\n[ini]\nopcache.jit = "tracing"\nmemory_limit = "1G"\n'
            + '[[target]]\npath = "/"\nweight = 2\n[[target]]\npath = "/api?x=1"\nweight = 0.5\nstatus = 404\nanswers = "status"\n',
        )
    )

    assert (app.name, app.root, app.docroot) == ("shop", tmp_path, tmp_path / "public")
    assert (app.front_controller, app.host) == ("app.php", "shop.test:8080")
    assert (app.sql, app.database) == (tmp_path / "dump.sql.gz", "shop-1")
    assert app.prepare == ("php", "bin/console", "cache:warmup")
    assert app.env == {"DSN": "mysql:unix_socket={db_socket}", "DEBUG": "0"}
    assert app.ini == {"opcache.jit": "tracing", "memory_limit": "1G"}
    assert app.targets == (Target("/", 2.0), Target("/api?x=1", 0.5, 404, "status"))


def test_defaults(tmp_path: Path) -> None:
    app = load_app_toml(write(tmp_path, 'name = "a"\ndocroot = "www"\n' + TARGET))

    assert (app.root, app.docroot) == (tmp_path / "www", tmp_path / "www")
    assert (app.front_controller, app.host, app.sql, app.database, app.prepare) == ("index.php", "localhost", None, None, ())
    assert app.targets == (Target("/", 1.0, 200, "body"),)
    assert app.settings == {}


def test_settings_that_an_arm_may_change(tmp_path: Path) -> None:
    flags = '[setting.cache-dir]\nenv = "CACHE"\ndefault = ""\n[setting.mode]\nenv = "MODE"\nvalues = ["on", true, 2.5]\ndefault = true\n'
    app = load_app_toml(write(tmp_path, BASE + TARGET + SETTING + flags))

    assert app.settings == {
        "debug": AppSetting("APP_DEBUG", ("0", "1"), "0"),
        "cache-dir": AppSetting("CACHE"),
        "mode": AppSetting("MODE", ("on", "1", "2.5"), "1"),
    }


def test_a_dump_implies_a_database(tmp_path: Path) -> None:
    assert load_app_toml(write(tmp_path, 'sql = "a.sql"\n' + BASE + TARGET)).database == "app"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("doc_root = 1\n" + BASE + TARGET, "doc_root: unknown key; did you mean docroot?"),
        (BASE + TARGET + "wieght = 1\n", "target[0].wieght: unknown key; did you mean target.weight?"),
        (
            BASE + TARGET + "xyzzy = 1\n",
            "target[0].xyzzy: unknown key; known: answers, body, cookies, headers, method, name, path, status, weight, writes",
        ),
        ('docroot = "www"\n' + TARGET, "misses the key name"),
        ('name = "a"\n' + TARGET, "misses the key docroot"),
        (BASE, "misses the key target"),
        (BASE + "target = []\n", "target: there is no target"),
        (BASE + "[[target]]\nweight = 1\n", "misses the key path"),
        (BASE.replace('"shop"', "1") + TARGET, "name: Expected str, got int"),
        (BASE + 'prepare = "make"\n' + TARGET, "prepare: Expected array, got str"),
        (BASE + "prepare = [1]\n" + TARGET, "prepare[0]: Expected str, got int"),
        (BASE + 'prepare = [""]\n' + TARGET, "prepare[0]: names no program"),
        (BASE + TARGET + 'weight = "1"\n', "target[0].weight: Expected float, got str"),
        (BASE + TARGET + "weight = 0\n", "target[0].weight: the weight 0.0 is not above 0"),
        (BASE + TARGET + "weight = -1\n", "is not above 0"),
        (BASE + TARGET + "weight = inf\n", "is not above 0"),
        (BASE + TARGET + "weight = nan\n", "is not above 0"),
        (BASE + TARGET + "weight = true\n", "got bool"),
        (BASE + TARGET + "status = 99\n", "target[0].status: 99 is no HTTP status; use 100 to 599"),
        (BASE + TARGET + "status = 600\n", "600 is no HTTP status"),
        (BASE + TARGET + 'answers = "stats"\n', 'target[0].answers: Invalid value \'stats\'; use "body" or "status"'),
        (BASE + '[[target]]\npath = "shop"\n', "does not start with '/'"),
        (BASE + '[[target]]\npath = "/a b"\n', "percent-encode it"),
        (BASE + '[[target]]\npath = "/\\r\\nX: y"\n', "percent-encode it"),
        (BASE + '[[target]]\npath = "/a#b"\n', "percent-encode it"),
        (BASE.replace('"public"', '"../public"') + TARGET, "docroot: docroot '../public' does not lie in root '.'"),
        (BASE.replace('"shop"', '"../shop"') + TARGET, "name: '../shop' cannot name a run's directory"),
        ('host = "a b"\n' + BASE + TARGET, "is no host name"),
        ('database = "a`b"\n' + BASE + TARGET, "is no plain database name"),
        ('front_controller = "../x.php"\n' + BASE + TARGET, "does not lie in docroot"),
        (
            'front_controller = "my page.php"\n' + BASE + TARGET,
            "front_controller: 'my page.php' cannot stand in a server's configuration; use letters, digits, '.', '_', '-' and '/'",
        ),
        ('front_controller = "x.php;}"\n' + BASE + TARGET, "'x.php;}' cannot stand in a server's configuration"),
        ('front_controller = "$uri"\n' + BASE + TARGET, "'$uri' cannot stand in a server's configuration"),
        (BASE + TARGET + "[ini]\nopcache.jit = [1]\n", "ini.opcache.jit: an array"),
        (BASE + TARGET + "[ini]\nx = 1979-05-27\n", "ini.x: a date or time"),
        (BASE + TARGET + '[env]\n"A B" = 1\n', "no name of an environment variable"),
        (BASE + TARGET + '[env]\nPHP_INI_SCAN_DIR = "/x"\n', "set by phpdyno itself"),
        (BASE + TARGET + '[env]\nDSN = "{db_socket}"\n', "the app has no database; add sql or database"),
        (BASE + TARGET + SETTING + "vlaues = []\n", "setting.debug.vlaues: unknown key; did you mean setting.debug.values?"),
        (BASE + TARGET + "[setting]\ndebug = 1\n", "setting.debug: Expected object, got int"),
        ("setting = 1\n" + BASE + TARGET, "setting: Expected object, got int"),
        (BASE + TARGET + '[setting.debug]\nenv = "A"\n', "setting.debug: misses the key default"),
        (BASE + TARGET + "[setting.debug]\ndefault = 1\n", 'setting.debug: misses the key env; add env = "APP_DEBUG"'),
        (BASE + TARGET + SETTING.replace('"APP_DEBUG"', "1"), "setting.debug.env: Expected str, got int"),
        (BASE + TARGET + SETTING.replace("APP_DEBUG", "A B"), "setting.debug.env: 'A B' is no name of an environment variable"),
        (BASE + TARGET + SETTING.replace("APP_DEBUG", "PHP_INI_SCAN_DIR"), "set by phpdyno itself"),
        (BASE + TARGET + SETTING.replace("debug", '"de;bug"'), "setting.de;bug: 'de;bug' cannot stand in app.NAME=value"),
        (BASE + TARGET + SETTING.replace("debug", '"app.debug"'), "cannot stand in app.NAME=value"),
        (BASE + TARGET + SETTING.replace("[0, 1]", "[0, [1]]"), "setting.debug.values[1]: an array"),
        (BASE + TARGET + SETTING.replace("default = 0", "default = 2"), "'2' is none of the values; the values are 0, 1"),
        (BASE + TARGET + SETTING.replace("default = 0", 'default = "a\\nb"'), "holds a control character"),
        (BASE + TARGET + SETTING + "[env]\nAPP_DEBUG = 1\n", "setting.debug.env: env.APP_DEBUG sets APP_DEBUG as well; keep one"),
        (BASE + TARGET + SETTING + SETTING.replace("debug]", "verbose]"), "setting.verbose.env: setting.debug sets APP_DEBUG as well"),
        (BASE + 'exclude = ["/var/log"]\n' + TARGET, "exclude[0]: '/var/log' does not name a place in root; write it relative to root"),
        (BASE + 'exclude = ["var", "../other"]\n' + TARGET, "exclude[1]: '../other' does not name a place in root"),
        (BASE + 'exclude = ["."]\n' + TARGET, "exclude[0]: '.' does not name a place in root"),
        (BASE + 'exclude = ["public/"]\n' + TARGET, "exclude[0]: 'public/' holds the docroot; leave out what is in it"),
        ("name = \n", "is not valid TOML: Invalid value (at line 1"),
    ],
)
def test_refused(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        load_app_toml(tmp_path / "app.toml")


@pytest.mark.parametrize(
    ("text", "host", "scheme"),
    [
        ("", "localhost", "http"),
        ('scheme = "https"\n', "localhost", "https"),
        ('host = "https://shop.example"\n', "shop.example", "https"),
        ('host = "HTTPS://shop.example:8443/"\n', "shop.example:8443", "https"),
        ('host = "http://shop.example"\nscheme = "http"\n', "shop.example", "http"),
        ('host = "shop.example"\nscheme = "https"\n', "shop.example", "https"),
    ],
)
def test_host_and_scheme(tmp_path: Path, text: str, host: str, scheme: str) -> None:
    app = load_app_toml(write(tmp_path, text + BASE + TARGET))
    assert (app.host, app.scheme, app.forwarded, app.nginx) == (host, scheme, False, "")


def test_what_requests_say_of_compression(tmp_path: Path) -> None:
    assert load_app_toml(write(tmp_path, BASE + TARGET)).accept_encoding == "gzip, deflate, br"
    assert load_app_toml(write(tmp_path, 'accept_encoding = "none"\n' + BASE + TARGET)).accept_encoding == ""
    assert load_app_toml(write(tmp_path, 'accept_encoding = "gzip;q=1.0, *;q=0"\n' + BASE + TARGET)).accept_encoding == "gzip;q=1.0, *;q=0"


@pytest.mark.parametrize(("given", "kept"), [("live", "live"), ("live:www", "live:www"), ("/etc/x", "/etc/x"), ("site.conf", None)])
def test_a_server_block_is_a_file_or_that_of_a_running_nginx(tmp_path: Path, given: str, kept: str | None) -> None:
    assert load_app_toml(write(tmp_path, f'nginx = "{given}"\n' + BASE + TARGET)).nginx == (kept or str(tmp_path / given))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('host = "ftp://x"\n', "is no host name"),
        ('host = "https://shop.example/path"\n', "is no host name"),
        ('scheme = "ftp"\n', "scheme"),
        ('scheme = "http"\nhost = "https://x"\n', "host says https"),
        ('accept_encoding = "gzip\\r\\nX: y"\n', "is no list of codings"),
    ],
)
def test_ways_of_asking_that_cannot_be(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text + BASE + TARGET)
