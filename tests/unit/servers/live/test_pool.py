"""A pool's file as settings of an arm, from masters made up for the test (the real ones are in
tests/integration/watch/test_live.py)."""

import os
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.server_files.php import render_ini
from phpdyno.servers.live import pool as live_pool
from phpdyno.servers.live.drift import drift_notes
from phpdyno.servers.live.masters import LiveMaster, Masters
from phpdyno.servers.live.pool import LivePool, import_pool, secrets_behind
from phpdyno.servers.own_ini import OWN_INI
from phpdyno.servers.programs.extensions import loaded_name
from phpdyno.servers.programs.php import IniFiles

FPM = "/usr/sbin/php-fpm8.2"


class FakeMasters:
    """Masters that do not run; their configuration is real."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.all: list[LiveMaster] = []
        self.refused: list[DynoError] = []

    def add(self, text: str, *, argv: tuple[str, ...] | None = (FPM,), env: dict[str, str] | None = None, exe: str = FPM) -> None:
        """One more, with this configuration; `env` None: it cannot be read."""
        pid = 100 + len(self.all)
        config = self.folder / f"{pid}.conf"
        config.write_text(text, encoding="utf-8", errors="surrogateescape")
        self.all.append(LiveMaster(pid, exe, config, Path("/home/x"), 4e9, argv, env))

    def __call__(self) -> Masters:
        return Masters(tuple(self.all), tuple(self.refused))


@pytest.fixture
def masters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMasters:
    fake = FakeMasters(tmp_path)
    monkeypatch.setattr(live_pool, "live_masters", fake)
    monkeypatch.setattr(live_pool, "fpm_prefix", lambda fpm: tmp_path)
    monkeypatch.setattr(live_pool, "fpm_version", lambda fpm: (8, 3))
    return fake


def imported(masters: FakeMasters, lines: str, **more: object) -> LivePool:
    masters.add(f"[www]\nlisten = /run/x.sock\n{lines}\n", **{"env": {}, **more})  # type: ignore[arg-type]
    return import_pool("")


def test_the_pool_becomes_ordinary_settings(masters: FakeMasters) -> None:
    pool = imported(masters, "pm = dynamic\npm.max_children = 9\nphp_admin_value[memory_limit] = 1G\nphp_flag[display_errors] = off\n")
    assert pool.settings == {
        "php": FPM,
        "web.socket": "unix",
        "pool.pm": "dynamic",
        "pool.pm.max_children": "9",
        "pool.php_admin_value[memory_limit]": "1G",
        "pool.php_flag[display_errors]": "0",
    }
    assert imported_tcp(masters) == "tcp"


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("/run/x.sock", "unix:/run/x.sock"),
        ("9000", "tcp:127.0.0.1:9000"),
        ("*:9000", "tcp:127.0.0.1:9000"),
        ("10.0.0.1:9000", "tcp:10.0.0.1:9000"),
        ("run/x.sock", ""),
    ],
)
def test_where_the_pool_listens_and_whose_it_is(masters: FakeMasters, listen: str, address: str) -> None:
    masters.add(f"[www]\nuser = first\nuser = second\nlisten = /run/other.sock\nlisten = {listen}\n", env={})
    pool = import_pool("")
    assert (pool.section, pool.user, pool.address) == ("www", "second", address)
    assert pool.opened_in == masters.all[0].config


def imported_tcp(masters: FakeMasters) -> str:
    masters.all.clear()
    masters.add("[www]\nlisten = 9000\n", env={})
    return import_pool("www").settings["web.socket"]


def test_values_that_may_be_passwords_stay_in_the_running_pool(masters: FakeMasters) -> None:
    pool = imported(
        masters,
        "env[DB] = hunter2\nenv[HOST] = $HOSTNAME\nphp_value[mysqli.default_pw] = hunter3\n"
        'php_value[redis.session] = "tcp://h?auth=hunter4"\nphp_value[newrelic.license] = hunter5',
        env={"HOSTNAME": "hunter6"},
        argv=(FPM, "-d", "my.secret=hunter7"),
    )
    assert "hunter" not in str(pool.settings) + str(pool.in_words())
    keys = {key for key, value in pool.settings.items() if value == "live:www"}
    assert keys == set(pool.secrets)
    assert {value[-7:] for value in pool.secrets.values()} == {f"hunter{number}" for number in range(2, 8)}
    assert secrets_behind("live:www") == pool.secrets


def test_a_value_that_is_no_utf8_stays_in_the_running_pool_which_is_said(masters: FakeMasters) -> None:
    lines = "php_value[user_agent] = caf\udce9\nphp_value[date.timezone] = größe"
    pool = imported(masters, lines, argv=(FPM, "-d", "precision=\udce9"))
    assert pool.settings["pool.php_value[date.timezone]"] == "größe"
    assert {key for key, value in pool.settings.items() if value == "live:www"} == {"pool.php_value[user_agent]", "ini.precision"}
    assert set(pool.secrets.values()) == {"caf\udce9", "\udce9"}
    told = " ".join(pool.in_words())
    assert "user_agent is not UTF-8 text: its value stays in the running pool" in told
    assert told.isprintable()


def test_what_is_left_out_is_named_with_the_reason(masters: FakeMasters) -> None:
    left = "user\ngroup\nlisten.owner\nchroot\nslowlog\naccess.log\nchdir\nrequest_terminate_timeout\nrlimit_files"
    lines = "\n".join(f"{name} = 1" for name in left.splitlines())
    pool = imported(masters, f"{lines}\nphp_admin_value[error_log] = /x\nphp_value[session.save_path] = /y\nphp_value[sendmail_path] = /z")
    told = " ".join(pool.in_words())
    names = [*left.splitlines(), "listen", "php_admin_value[error_log]", "php_value[session.save_path]", "php_value[sendmail_path]"]
    assert set(pool.left_out) == set(names)
    assert all(name in told for name in names)
    assert set(pool.settings) == {"php", "web.socket"}


def test_opcache_lets_our_probe_ask_whatever_the_pool_says(masters: FakeMasters) -> None:
    argv = (FPM, "-d", "opcache.restrict_api=/srv/shop")
    pool = imported(masters, "php_admin_value[opcache.restrict_api] = /srv/shop", argv=argv)
    names = ("php_admin_value[opcache.restrict_api]", "-d opcache.restrict_api")
    assert [pool.left_out[name] for name in names] == ["a script of ours asks opcache what it holds"] * 2
    assert set(pool.settings) == {"php", "web.socket"}
    assert "opcache.restrict_api = ''\n" in render_ini(OWN_INI)


def test_the_command_line_and_where_ini_files_lie(masters: FakeMasters) -> None:
    argv = (FPM, "-c", "etc/php.ini", "-dprecision=7", "-d", "zend_extension=xdebug", "--define=html_errors", "-y", "/x")
    pool = imported(masters, "", argv=argv, env={"PHP_INI_SCAN_DIR": ":extra"})
    assert pool.settings["php.ini"] == "/home/x/etc/php.ini"
    assert pool.settings["php.scan_dir"] == ":/home/x/extra"
    assert (pool.settings["ini.precision"], pool.settings["ini.html_errors"]) == ("7", "1")
    assert pool.settings["ext.xdebug"] == "xdebug"


def test_without_php_ini(masters: FakeMasters) -> None:
    pool = imported(masters, "", argv=(FPM, "-n"))
    assert (pool.settings["php.ini"], pool.settings["php.scan_dir"]) == ("none", "none")


def test_the_environment_counts_as_far_as_workers_see_it(masters: FakeMasters) -> None:
    env = {"LD_PRELOAD": "/lib/j.so", "PATH": "/bin", "API_KEY": "k", "INVOCATION_ID": "1"}
    assert {key for key in imported(masters, "", env=env).settings if key.startswith("env.")} == {"env.LD_PRELOAD"}
    masters.all.clear()
    open_to_all = imported(masters, "clear_env = no", env=env)
    assert open_to_all.settings["env.API_KEY"] == "live:www"
    assert open_to_all.settings["env.LD_PRELOAD"] == "/lib/j.so"
    assert "env.PATH" not in open_to_all.settings
    assert "env.INVOCATION_ID" not in open_to_all.settings


def test_what_cannot_be_read_of_the_master_is_said(masters: FakeMasters) -> None:
    told = " ".join(imported(masters, "", argv=None, env=None).in_words())
    assert "by hand" in told
    assert "environment of php-fpm cannot be read" in told


def test_no_php_fpm_runs(masters: FakeMasters) -> None:
    with pytest.raises(DynoError, match="no php-fpm runs here; start it, or give its settings by hand"):
        import_pool("")


def test_several_pools_and_none_named(masters: FakeMasters) -> None:
    masters.add("[shop]\nlisten = 1\n[blog]\nlisten = 2\n")
    with pytest.raises(UsageError, match="more than one pool runs: shop, blog; name one, as in live:shop"):
        import_pool("")
    with pytest.raises(UsageError, match=r"live:shp: no such pool runs; did you mean shop\?"):
        import_pool("shp")


def test_pools_of_the_same_name_are_told_apart_by_program_or_process(masters: FakeMasters) -> None:
    for exe in (FPM, "/opt/php-fpm8.3", "/opt/php-fpm8.3"):
        masters.add("[www]\nlisten = 1\n", exe=exe)
    with pytest.raises(UsageError, match=r"called www: php-fpm8\.2/www, 101/www, 102/www"):
        import_pool("www")
    assert import_pool("php-fpm8.2/www").settings["php"] == FPM
    assert import_pool("102/www").selector == "102/www"


def test_what_changed_since_the_master_started_is_said(masters: FakeMasters, tmp_path: Path) -> None:
    (tmp_path / "php.ini").write_text("extension=gone.so\n")
    masters.add("[www]\nlisten = 1\n", env={})
    files = IniFiles(str(tmp_path / "php.ini"), (), "/nowhere")
    old = structs.replace(masters.all[0], pid=os.getpid())
    masters.all = [old]
    assert drift_notes(import_pool(""), files) == ("ini files load extensions that the pool www has not: gone",)
    masters.all = [structs.replace(old, started_s=1.0)]
    newer, _ = drift_notes(import_pool(""), files)
    assert str(old.config) in newer
    assert str(tmp_path / "php.ini") in newer


def test_extensions_of_the_master_that_no_file_loads_are_said(masters: FakeMasters) -> None:
    mapped = next(path for path in Path("/proc/self/maps").read_text().split() if path.endswith(".so"))
    masters.add("[www]\nlisten = 1\n", env={})
    masters.all = [structs.replace(masters.all[0], pid=os.getpid())]
    (note,) = drift_notes(import_pool(""), IniFiles("", (), str(Path(mapped).parent)))
    assert "extensions that no ini file loads any more" in note
    assert loaded_name(mapped) in note


def test_a_master_that_cannot_be_read_stands_in_nobody_s_way(masters: FakeMasters) -> None:
    masters.refused.append(DynoError("this pool cannot be looked into", where="php-fpm, process 9"))
    with pytest.raises(DynoError, match="process 9: this pool cannot be looked into"):
        import_pool("")
    masters.add("[shop]\nlisten = 1\n")
    masters.add("[broken]\nthis is not understood\n")
    assert import_pool("shop").selector == "shop"
    assert import_pool("").selector == "shop"
    with pytest.raises(DynoError, match="process 9"):
        import_pool("other")
    masters.refused.clear()
    with pytest.raises(UsageError, match=r"101\.conf:2: this line is not understood"):
        import_pool("broken")


def test_of_php_values_and_variables_the_first_line_counts_and_admin_values_before_all(masters: FakeMasters) -> None:
    pool = imported(
        masters,
        "php_admin_value[a] = 1\nphp_value[a] = 2\nphp_value[b] = 3\nphp_flag[b] = off\nphp_value[c] = 4\nphp_admin_value[c] = 5\n"
        "php_admin_value[c] = 6\nenv[N] = first\nenv[N] = second\npm.max_children = 2\npm.max_children = 3",
    )
    assert {key: value for key, value in pool.settings.items() if key.startswith("pool.php")} == {
        "pool.php_admin_value[a]": "1",
        "pool.php_value[b]": "3",
        "pool.php_admin_value[c]": "5",
    }
    assert pool.secrets == {"env.N": "first"}
    assert pool.settings["pool.pm.max_children"] == "3"


def test_variables_that_would_act_on_our_own_php_fpm_are_left_out(masters: FakeMasters) -> None:
    names = ("PHP_INI_SCAN_DIR", "PHPRC", "LD_PRELOAD", "LD_AUDIT", "USE_ZEND_ALLOC", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
    pool = imported(masters, "\n".join(f"env[{name}] = /x" for name in names), env={"LD_PRELOAD": "/lib/j.so"})
    assert set(pool.left_out) == {"listen", *(f"env[{name}]" for name in names)}
    assert {key: value for key, value in pool.settings.items() if key.startswith("env.")} == {"env.LD_PRELOAD": "/lib/j.so"}
    assert pool.secrets == {}


def test_a_text_that_looks_like_a_keyword_is_asked_for_and_quoted(masters: FakeMasters) -> None:
    pool = imported(masters, 'php_value[a] = "None"\nphp_value[b] = None\nphp_value[c] = "E_ALL"\nphp_value[d] = E_ALL\nphp_value[e] = x')
    values = {key[15:-1]: value for key, value in pool.settings.items() if key.startswith("pool.php")}
    assert values == {"a": "live:www", "b": "", "c": "E_ALL", "d": "32767", "e": "x"}
    assert set(pool.secrets.values()) == {"None"}
    assert "c = 'E_ALL'\n" in render_ini({"c": values["c"]}), "a bare word in capitals may be a constant, so a text is quoted"


def test_a_pool_does_not_preload(masters: FakeMasters) -> None:
    pool = imported(masters, "php_admin_value[opcache.preload] = /srv/preload.php")
    assert "php_admin_value[opcache.preload]" in pool.left_out
    assert "preload" not in str(pool.settings)


@pytest.mark.parametrize(("address", "family"), [("run/a.sock", "unix"), ("9000", "tcp"), ("[::1]:9000", "tcp"), ("/run/a.sock", "unix")])
def test_the_family_of_an_address(masters: FakeMasters, address: str, family: str) -> None:
    masters.add(f"[www]\nlisten = {address}\npm = Static\n", env={})
    assert (import_pool("").settings["web.socket"], import_pool("").settings["pool.pm"]) == (family, "static")


def test_options_are_read_as_php_fpm_reads_them(masters: FakeMasters) -> None:
    defined = ("-d", "error_reporting=E_ALL & ~E_NOTICE", '-dprecision="7"', "-d", "a=None", "-d", "b=/None;x")
    pool = imported(masters, "", argv=(FPM, "-FRc", "/x.ini", *defined, "-Oc/y.ini"))
    assert pool.settings["php.ini"] == "/y.ini"
    values = {key[4:]: value for key, value in pool.settings.items() if key.startswith("ini.")}
    assert values == {"error_reporting": str(32767 & ~8), "precision": "7", "a": "", "b": "/None;x"}
    masters.all.clear()
    assert imported(masters, "", argv=(FPM, "-Fn")).settings["php.scan_dir"] == "none"


def test_a_variable_whose_value_is_not_known_is_refused(masters: FakeMasters) -> None:
    with pytest.raises(UsageError, match=r"100\.conf:3: the environment of php-fpm cannot be read"):
        imported(masters, "pm.max_children = ${MOST}", env=None)
