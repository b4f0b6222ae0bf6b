from collections.abc import Mapping
from pathlib import Path

import pytest

from phpdyno.config.spec import KnownNames, parse_spec
from phpdyno.errors import UsageError

KNOWN = KnownNames(
    ini=frozenset({"opcache.jit", "opcache.enable", "memory_limit", "zend.assertions"}),
    pool=frozenset({"pm", "pm.max_children"}),
    web=frozenset({"socket", "workers"}),
    app=frozenset({"debug", "mode"}),
    os=frozenset({"vm.nr_hugepages", "thp"}),
)


def parse(text: str, base_dir: Path = Path("/base")) -> dict[str, str]:
    return parse_spec(text, known=KNOWN, base_dir=base_dir)


def refusal(text: str, base_dir: Path = Path("/base")) -> str:
    with pytest.raises(UsageError) as caught:
        parse(text, base_dir)
    message = str(caught.value)
    assert "\n" not in message
    return message


def refused_file(tmp_path: Path, content: str) -> str:
    (tmp_path / "arm.toml").write_text(content)
    message = refusal("@arm.toml", tmp_path)
    assert str(tmp_path / "arm.toml") in message
    return message


def test_settings_of_the_host_are_read_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text('[os]\n"vm.nr_hugepages" = 128\nthp = "never"\n')
    assert parse("os.vm.nr_hugepages=128;os.thp=never") == parse("@arm.toml", tmp_path) == {"os.vm.nr_hugepages": "128", "os.thp": "never"}


def test_every_layer_in_one_spec() -> None:
    text = "ini.opcache.jit=tracing; pool.pm=static;web.socket=tcp;env.DSN=a=b;php=bin/fpm;php.extension_dir=/ext;"

    assert parse(text) == {
        "ini.opcache.jit": "tracing",
        "pool.pm": "static",
        "web.socket": "tcp",
        "env.DSN": "a=b",
        "php": "/base/bin/fpm",
        "php.extension_dir": "/ext",
    }


@pytest.mark.parametrize("name", ["8.4", "php-fpm8.4", "php8.4"])
def test_a_php_of_this_host_is_named_by_its_version_or_program(tmp_path: Path, name: str) -> None:
    assert parse(f"php={name}", tmp_path) == {"php": name}
    (tmp_path / "arm.toml").write_text(f'php = "{name}"\n')
    assert parse("@arm.toml", tmp_path) == {"php": name}
    (tmp_path / name).touch()
    assert parse(f"php={name}", tmp_path) == {"php": str(tmp_path / name)}


def test_empty_spec_and_empty_value() -> None:
    assert parse("") == {}
    assert parse(" ; ") == {}
    assert parse("ini.opcache.jit=") == {"ini.opcache.jit": ""}


def test_file_with_nested_and_dotted_keys(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(
        'php = "fpm"\n[ini]\nmemory_limit = "64M"\nzend.assertions = -1\n[ini.opcache]\njit = "tracing"\nenable = true\n'
        '[pool]\npm = "static"\n"pm.max_children" = 3\n[env]\nRATIO = 0.5\nOFF = false\n'
    )

    assert parse("@arm.toml; web.workers=2", tmp_path) == {
        "php": str(tmp_path / "fpm"),
        "ini.memory_limit": "64M",
        "ini.zend.assertions": "-1",
        "ini.opcache.jit": "tracing",
        "ini.opcache.enable": "1",
        "pool.pm": "static",
        "pool.pm.max_children": "3",
        "env.RATIO": "0.5",
        "env.OFF": "0",
        "web.workers": "2",
    }


def test_php_table_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text('[php]\nfpm = "fpm"\nextension_dir = "ext"\n')
    assert parse("@arm.toml", tmp_path) == {"php": str(tmp_path / "fpm"), "php.extension_dir": str(tmp_path / "ext")}


def test_known_names_may_depend_on_the_php_named() -> None:
    asked: list[Mapping[str, str]] = []

    def known(php: Mapping[str, str]) -> KnownNames:
        asked.append(dict(php))
        return KNOWN

    parse_spec("ini.opcache.jit=off;php=/x", known=known, base_dir=Path("/"))
    assert asked == [{"php": "/x"}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("inni.opcache.jit=1", "did you mean ini?"),
        ("=x", "is not a layer"),
        ("ini.opcache.jti=1", "did you mean ini.opcache.jit?"),
        ("pool.pm.max_childern=1", "did you mean pool.pm.max_children?"),
        ("web.xyzzy=1", "known: socket, workers"),
        ("php.path=1", "extension_dir"),
        ("ini.opcache.jit", "has no '='"),
        ("ini.include_path=a;b", "'b'"),
        ("ini=3", "names no setting"),
        ("ini.=3", "names no setting"),
        ("ini.opcache.jit=1;ini.opcache.jit=2", "set twice"),
        ("php=/a;php.fpm=/b", "set twice"),
        ("php=", "path is empty"),
        ("env.1X=1", "no name of an environment variable"),
        ("env.PHP_INI_SCAN_DIR=/x", "set by phpdyno itself"),
        ("ini.memory_limit=1\n2", "control character"),
        ("os.vm.nr_hugepage=128", "did you mean os.vm.nr_hugepages?"),
        ("os.swappiness=1", "no setting of the host is called 'swappiness'"),
        ("build=fast", "there is no build 'fast'"),
        ("build=", "names no build"),
        ("build.fpm=x", "names no build"),
        ("ext=/x.so", "names no setting of the layer ext"),
        ("ext.a-b=/x.so", "no name of an extension"),
        ("source=", "names no commit"),
        ("source.x=HEAD", "names no commit"),
        ("app.debgu=1", "did you mean app.debug?"),
        ("live:www", "a running pool can be the control only"),
        ("live=www", "takes no value"),
        ("ini.memory_limit=live:www", "only a variable"),
        ("pool.php_value[memory_limti]=1", "did you mean memory_limit?"),
        ("pool.php_admin_value[opcache.jit]=1", "write ini.opcache.jit=1"),
        ("php.scan_dir=~nobodyhere/a", "home directory"),
        ("@missing.toml", "no such file"),
        ("@a\0b", "cannot be the name of a file"),
        ("@~nobodyhere/a.toml", "home directory"),
        ("php=~nobodyhere/fpm", "home directory"),
    ],
)
def test_refused(text: str, says: str) -> None:
    assert says in refusal(text)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[ini]\nopcache.jti = 1\n", "ini.opcache.jti: this PHP has no ini setting 'opcache.jti'; did you mean ini.opcache.jit?"),
        ("[pol]\npm = 1\n", "did you mean pool?"),
        ("ini = 3\n", "a whole number where a table belongs"),
        ("[ini]\nopcache.jit = [1]\n", "ini.opcache.jit: an array"),
        ("[ini]\nopcache.jit = { a = 1 }\n", "a table where the value of ini.opcache.jit belongs"),
        ("[ini]\nopcache.jit = {}\n", "a table"),
        ("[ini]\nmemory_limit = 1979-05-27\n", "a date or time"),
        ("[ini]\nmemory_limit = nan\n", "the number nan"),
        ('[ini]\nmemory_limit = "a\\nb"\n', "control character"),
        ("[ini]\nmemory_limit = \n", "line 2"),
        ('[pool]\npm = "static"\npm.max_children = 3\n', 'written in quotes: "pm.max_children" = 8'),
        ("[build]\nname = 1\n", "a table where a string belongs"),
        ("[source]\nref = 1\n", "a table where a string belongs"),
        ("source = 3\n", "a whole number where a string belongs"),
        ('live = "www"\n', "a running pool can be the control only"),
    ],
)
def test_refused_in_a_file(tmp_path: Path, content: str, says: str) -> None:
    assert says in refused_file(tmp_path, content)


def test_a_key_twice_over_file_and_text(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text("[ini]\nopcache.jit = 1\n")
    assert "ini.opcache.jit is set twice" in refusal("@arm.toml;ini.opcache.jit=2", tmp_path)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_bytes(b"[ini]\nmemory_limit = '\xff'\n")
    assert "not UTF-8" in refusal("@arm.toml", tmp_path)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(f"@{tmp_path}")


def test_the_layers_of_extensions_commits_and_the_app(tmp_path: Path) -> None:
    text = "ext.redis=redis.so;ext.calendar=;ext.xdebug=off;source=v1.2;app.debug=0;pool.php_admin_value[memory_limit]=1G"
    expected = {
        "ext.redis": "/base/redis.so",
        "ext.calendar": "off",
        "ext.xdebug": "off",
        "source": "v1.2",
        "app.debug": "0",
        "pool.php_admin_value[memory_limit]": "1G",
    }
    assert parse(text) == expected
    (tmp_path / "arm.toml").write_text(
        'source = "v1.2"\n[ext]\nredis = "/base/redis.so"\ncalendar = ""\nxdebug = false\n[app]\ndebug = false\n'
        '[pool]\n"php_admin_value[memory_limit]" = "1G"\n'
    )
    assert parse("@arm.toml", tmp_path) == expected


def test_where_php_finds_its_ini_files() -> None:
    assert parse("php.ini=php.ini;php.scan_dir=:conf.d:/etc/more") == {
        "php.ini": "/base/php.ini",
        "php.scan_dir": ":/base/conf.d:/etc/more",
    }
    assert parse("php.ini=none;php.scan_dir=none") == {"php.ini": "none", "php.scan_dir": "none"}
    assert parse("php.settings_dir=conf.d") == {"php.settings_dir": "/base/conf.d"}


def test_a_running_pool_is_for_the_control_and_comes_before_what_changes_it(tmp_path: Path) -> None:
    asked: list[Mapping[str, str]] = []

    def known(php: Mapping[str, str]) -> KnownNames:
        asked.append(dict(php))
        return KNOWN

    def control(text: str) -> dict[str, str]:
        return parse_spec(text, known=known, base_dir=tmp_path, live=True)

    assert control("live") == {"live": ""}
    assert control("ini.memory_limit=1G; live:www2 ;env.KEY=live:www2") == {
        "ini.memory_limit": "1G",
        "live": "www2",
        "env.KEY": "live:www2",
    }
    assert asked[-1] == {"live": "www2"}
    (tmp_path / "arm.toml").write_text('live = "www2"\n')
    assert control("@arm.toml") == {"live": "www2"}
    with pytest.raises(UsageError, match="live is set twice"):
        control("live:a;live:b")


def test_a_build_stands_for_its_php(tmp_path: Path) -> None:
    def fake_builds(name: str) -> dict[str, str]:
        return {"php": f"/builds/{name}/php-fpm", "php.extension_dir": f"/builds/{name}/extensions"}

    known = KnownNames()
    settings = parse_spec("build=pgo", known=known, base_dir=tmp_path, builds=fake_builds)
    assert settings == {"php": "/builds/pgo/php-fpm", "php.extension_dir": "/builds/pgo/extensions"}
    (tmp_path / "arm.toml").write_text('build = "pgo"\n')
    assert parse_spec("@arm.toml", known=known, base_dir=tmp_path, builds=fake_builds) == settings
    with pytest.raises(UsageError, match="php is set twice"):
        parse_spec("build=pgo;php=/other", known=known, base_dir=tmp_path, builds=fake_builds)
