"""SPECs for one comparison: the app's settings, commits, extensions, a running pool below what
changes it."""

import subprocess
from pathlib import Path

import pytest

from phpdyno.apps.folder import FolderApp
from phpdyno.apps.registry import open_app
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.arm import PhpBuild
from phpdyno.servers.live.pool import LivePool
from phpdyno.servers.programs.php import IniFiles, default_fpm
from phpdyno.session import specs
from phpdyno.session.arms import make_arms
from phpdyno.session.specs import SpecReader, overlaid

FPM = "/usr/sbin/php-fpm8.2"
INI = ("memory_limit", "precision", "opcache.enable")
TOML = """name = "shop"
docroot = "public"
root = "."
[setting.mode]
env = "MODE"
values = ["fast", "slow"]
default = "fast"
[[target]]
path = "/"
"""


@pytest.fixture(autouse=True)
def fake_php(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """A PHP that is not asked; the list holds how it would have been."""
    asked: list[tuple[object, ...]] = []

    def fake_inspect(fpm: str, extension_dir: str | None = None, **more: object) -> PhpBuild:
        asked.append((fpm, extension_dir, more["options"], more["scan_dir"]))
        return PhpBuild(fpm, "8.2.0", extension_dir, "", INI)

    monkeypatch.setattr(specs, "inspect_php", fake_inspect)
    monkeypatch.setattr(specs, "default_fpm", lambda: FPM)
    return asked


@pytest.fixture
def app(tmp_path: Path) -> FolderApp:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "index.php").write_text("<?php echo 1;")
    (tmp_path / "app.toml").write_text(TOML)
    found = open_app(str(tmp_path))
    assert isinstance(found, FolderApp)
    return found


def git(folder: Path, *argv: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@x"]
    return subprocess.run(["git", "-C", str(folder), *identity, *argv], capture_output=True, text=True, check=True).stdout.strip()


def test_settings_of_the_app(app: FolderApp) -> None:
    made = make_arms("app.mode=slow", ["app.mode=fast"], app=app)
    assert made.control.settings["app.mode"] == "slow"
    assert made.treatments[0].changed == {"app.mode": "fast"}
    with pytest.raises(UsageError, match=r"did you mean app\.mode"):
        make_arms("", ["app.mod=fast"], app=app)
    with pytest.raises(UsageError, match=r"app\.mode cannot be 'fats'; did you mean fast"):
        make_arms("", ["app.mode=fats"], app=app)
    with pytest.raises(UsageError, match="the app has no settings"):
        make_arms("", ["app.mode=fast"])


def test_of_several_phps_the_newest_is_taken_and_said_and_another_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for series in ("8.3", "8.4"):
        (tmp_path / f"php-fpm{series}").touch(mode=0o755)
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
    monkeypatch.setattr(specs, "default_fpm", lambda: str(tmp_path / "php-fpm8.4"))
    unasked = make_arms("", ["env.COLOUR=green", "php=8.3"])
    assert unasked.notes == ()
    assert unasked.several == ("PHP 8.4 is measured, the newest of 8.4 and 8.3; php=8.3 in a SPEC or --control measures another one",)
    assert [arm.php.fpm for arm in unasked.treatments] == [str(tmp_path / f"php-fpm{series}") for series in ("8.4", "8.3")]
    named = make_arms("php=php-fpm8.3", ["env.COLOUR=green"])
    assert (named.notes, named.several) == ((), ())
    assert named.control.settings["php"] == named.treatments[0].php.fpm == str(tmp_path / "php-fpm8.3")
    with pytest.raises(UsageError, match=r"there is no php-fpm8\.9 here; installed are 8\.4, 8\.3"):
        make_arms("php=8.9", ["env.COLOUR=green"])


def test_a_commit_is_resolved_before_anything_starts(app: FolderApp, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "--quiet", "--message=one")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "HEAD")
    made = make_arms("", ["source=v1"], app=app)
    assert made.treatments[0].changed == {"source": commit}
    with pytest.raises(UsageError, match=r"--treatment source=v9: git knows no such commit: Needed a single revision"):
        make_arms("", ["source=v9"], app=app)
    with pytest.raises(UsageError, match="git knows no such commit"):
        make_arms("", ["source=--output=x"], app=app)


def test_commits_need_a_work_tree_an_own_app_and_git(app: FolderApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lies in no git work tree: not a git repository"):
        make_arms("", ["source=v1"], app=app)
    with pytest.raises(UsageError, match="a built-in app has no commits"):
        make_arms("", ["source=v1"], app=open_app("hello"))
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
    with pytest.raises(DynoError, match="git is not installed; install it with: sudo apt-get install"):
        make_arms("", ["source=v1"], app=app)


def test_extensions_are_checked_before_anything_starts(fake_php: list[tuple[object, ...]], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ext\.x: /none\.so: there is no such extension"):
        make_arms("", ["ext.x=/none.so"])
    calendar = Path("/usr/lib/php/20220829/calendar.so")
    if calendar.is_file():
        link = tmp_path / "link.so"
        link.symlink_to(calendar)
        made = make_arms("", [f"ext.calendar={link}"])
        assert made.treatments[0].changed == {"ext.calendar": str(calendar)}
        assert ("-d", f"extension={link}") in [call[2] for call in fake_php]


@pytest.fixture
def fake_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"php": FPM, "php.scan_dir": ":/more", "pool.pm": "dynamic", "pool.pm.max_children": "7"}
    own = {"pool.php_admin_value[memory_limit]": "77M", "pool.php_value[precision]": "9", "env.KEY": "live:www"}
    pool = LivePool("www", {**settings, **own}, {"user": "why not"}, ("a note",), {"env.KEY": "s"})
    monkeypatch.setattr(specs, "import_pool", lambda selector: pool)
    monkeypatch.setattr(specs, "ini_files", lambda *argv: IniFiles("", (), "/ext"))


@pytest.mark.usefixtures("fake_pool")
def test_a_running_pool_lies_below_what_the_spec_says(fake_php: list[tuple[object, ...]]) -> None:
    made = make_arms("ini.memory_limit=1G;live", ["ini.precision=5", "pool.pm.max_children=3"], aa=True)
    control = made.control.settings
    assert control["ini.memory_limit"] == "1G"
    assert "pool.php_admin_value[memory_limit]" not in control
    assert control["pool.php_value[precision]"] == "9"
    # One request at a time needs one worker: idle ones would serve cold in turn.
    loaded = made.loaded_control.settings
    assert (control["pool.pm.max_children"], loaded["pool.pm.max_children"], loaded["pool.pm"]) == ("1", "7", "dynamic")
    assert "pool.pm" not in control
    assert control["env.KEY"] == "live:www"
    assert "live" not in control
    _, first, second = made.treatments
    assert first.settings["ini.precision"] == "5"
    assert "pool.php_value[precision]" not in first.settings
    assert second.settings["pool.pm.max_children"] == "3"
    assert made.notes == (
        "not taken over from the pool www: user (why not)",
        "a note",
        "pm.max_children is 7 in the running pool; where CPU is measured, 1 here: so many requests are under way",
    )
    named = make_arms("live;pool.pm.max_children=20", ["ini.precision=5"])
    assert named.control.settings["pool.pm.max_children"] == "20"
    assert all(call[3] == ":/more" for call in fake_php)
    with pytest.raises(UsageError, match="control only"):
        make_arms("", ["live"])


@pytest.mark.usefixtures("fake_pool")
def test_each_arm_of_a_sweep_may_start_from_a_running_pool() -> None:
    reader = SpecReader()
    assert reader.read("live;pool.pm.max_children=20", "--arm", {})["pool.pm.max_children"] == "20"
    assert reader.read("live", "--control", {})["pool.pm.max_children"] == "7"
    with pytest.raises(UsageError, match="control only"):
        reader.read("live", "--treatment", {})


def test_words_are_spelled_as_the_servers_are_told_them(tmp_path: Path) -> None:
    made = make_arms("web.socket=TCP;pool.pm=Dynamic", ["web.socket=Unix", "web.access_log=BUFFERED;web.fastcgi_buffers=16 16k"])
    assert (made.control.settings["web.socket"], made.control.settings["pool.pm"]) == ("tcp", "dynamic")
    assert [arm.name for arm in made.treatments] == ["web.socket=Unix", "web.access_log=BUFFERED;web.fastcgi_buffers=16 16k"]
    assert made.treatments[0].changed == {"web.socket": "unix"}
    assert made.treatments[1].changed == {"web.access_log": "buffered", "web.fastcgi_buffers": "16 16k"}
    (tmp_path / "spec.toml").write_text('[web]\nsocket = " tcp "\n')
    assert make_arms("", [f"@{tmp_path}/spec.toml"]).treatments[0].settings["web.socket"] == "tcp"
    with pytest.raises(UsageError, match=r"web\.socket cannot be 'PIPE'; it takes one of unix, tcp"):
        make_arms("", ["web.socket=PIPE"])


def test_a_script_takes_no_settings_of_servers() -> None:
    reader = SpecReader(script=True)
    with pytest.raises(UsageError, match=r"--control live:www: live means nothing to a script; layers of a script: ini, env, php, ext"):
        reader.read("live:www", "--control", {})


def test_one_kind_of_pool_value_replaces_another() -> None:
    base = {"pool.php_admin_value[a]": "1", "pool.php_value[b]": "2", "pool.pm": "static"}
    assert overlaid(base, {"pool.php_value[a]": "3"}, {}) == {"pool.php_value[a]": "3", "pool.php_value[b]": "2", "pool.pm": "static"}
    assert overlaid(base, {"ini.b": "3"}, {}) == {"pool.php_admin_value[a]": "1", "pool.pm": "static", "ini.b": "3"}
    assert overlaid({"env.MODE": "live:www", "env.X": "1"}, {"app.mode": "fast"}, {"app.mode": "MODE"}) == {
        "env.X": "1",
        "app.mode": "fast",
    }


def pool_of(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    """A running pool with one setting more."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    monkeypatch.setattr(specs, "import_pool", lambda selector: LivePool("www", {"php": FPM, **named}, {}, ()))
    monkeypatch.setattr(specs, "ini_files", lambda *argv: IniFiles("", (), "/ext"))


def test_a_setting_of_the_app_takes_the_place_of_the_pool_s_variable(app: FolderApp, monkeypatch: pytest.MonkeyPatch) -> None:
    pool_of(monkeypatch, env__MODE="live:www")
    made = make_arms("live", ["app.mode=fast"], app=app)
    assert made.control.settings["env.MODE"] == "live:www"
    assert "env.MODE" not in made.treatments[0].settings
    assert "env.MODE" not in make_arms("live;app.mode=slow", [], aa=True, app=app).control.settings


def test_a_copy_is_not_led_to_the_database_of_the_live_site(app: FolderApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "[env]\nDB_HOST = 'localhost:{db_socket}'\n[ini]\nprecision = '9'\n"
    (tmp_path / "app.toml").write_text(f"database = 'shop'\n{TOML}{told}")
    led = {
        "env.DB_HOST": "live:www",
        "ini.mysqli.default_host": "db.example",
        "pool.php_admin_value[mysqli.default_socket]": "/run/live.sock",
    }
    theirs = {"php": FPM, "env.OTHER": "live:www", "pool.php_value[precision]": "3", "ini.memory_limit": "1G", **led}
    monkeypatch.setattr(specs, "import_pool", lambda selector: LivePool("www", theirs, {"user": "why not"}, ()))
    monkeypatch.setattr(specs, "ini_files", lambda *argv: IniFiles("", (), "/ext"))
    made = make_arms("live", ["env.DB_HOST=db.example"], app=open_app(str(tmp_path)))
    assert {"env.OTHER", "ini.memory_limit"} <= made.control.settings.keys()
    assert not {*led, "pool.php_value[precision]"} & made.control.settings.keys()
    assert "not taken over from the pool www: user (why not)" in made.notes
    assert any("env.DB_HOST" in note and "its own database" in note for note in made.notes)
    # Whoever asks for it by name gets it.
    assert made.treatments[0].settings["env.DB_HOST"] == "db.example"
    # Without a database and without a word of it the pool's own count.
    assert make_arms("live", [], aa=True, app=app).control.settings.keys() > led.keys()


def test_values_of_a_pool_that_nothing_can_take_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pool_of(monkeypatch, pool__pm__max_children="")
    with pytest.raises(UsageError, match=r"--control live: pool\.pm\.max_children cannot be ''"):
        make_arms("live", [], aa=True)


def test_a_script_is_preloaded_only_where_it_is_the_app_s(app: FolderApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pool_of(monkeypatch, ini__opcache__preload="/srv/elsewhere.php")
    made = make_arms("live", [], aa=True, app=app)
    assert made.control.settings["ini.opcache.preload"] == ""
    assert len([note for note in made.notes if "/srv/elsewhere.php is not preloaded, as it lies outside the app's root" in note]) == 1
    pool_of(monkeypatch, ini__opcache__preload=str(tmp_path / "preload.php"))
    made = make_arms("live", [], aa=True, app=app)
    assert (made.control.settings["ini.opcache.preload"], made.notes) == (str(tmp_path / "preload.php"), ())


def test_fewer_workers_take_the_numbers_of_spare_ones_with_them() -> None:
    base = {"pool.pm": "dynamic", "pool.pm.max_children": "5", "pool.pm.start_servers": "2", "pool.pm.max_spare_servers": "3", "ini.a": "1"}
    fewer = {"pool.pm.max_children": "2"}
    assert overlaid(base, fewer, {}) == {"pool.pm": "dynamic", "ini.a": "1", **fewer}
    more = {"pool.pm.max_children": "9"}
    assert overlaid(base, more, {}) == {**base, **more}
    own = {**fewer, "pool.pm.max_spare_servers": "7"}  # php-fpm says what is wrong with it
    assert overlaid(base, own, {})["pool.pm.max_spare_servers"] == "7"


def test_a_php_by_its_version_reads_the_php_ini_values_of_its_arm() -> None:
    series = ".".join(default_fpm().rpartition("php-fpm")[2].split(".")[:2])
    made = make_arms("", [f"php={series};ini.memory_limit=64M", f"php=php-fpm{series};ini.precision=8 | 4"])
    assert {arm.php.fpm for arm in made.treatments} == {str(Path(default_fpm()).resolve())}
    assert made.treatments[1].settings["ini.precision"] == "12"
