from pathlib import Path

from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.workload import Workload
from phpdyno.servers.own_ini import askable, led_to_copy, of_php, with_own_places

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0", disabled="exec,getmypid", fence="/srv")


def made(name: str) -> Path:
    return Path("/live") / name


def test_each_arm_has_caches_and_sessions_of_its_own_the_same_at_every_start() -> None:
    named = {"opcache.file_cache": "/var/cache/php"}
    one, originals = with_own_places(named, Arm("a", PHP), made)
    again, _ = with_own_places(named, Arm("a", PHP), made)
    other, _ = with_own_places(named, Arm("b", PHP, {"ini.opcache.jit": "off"}), made)
    assert one == again
    assert one["opcache.file_cache"] != other["opcache.file_cache"]
    assert one["session.save_path"] != other["session.save_path"]
    assert originals == {one["opcache.file_cache"]: "/var/cache/php"}


def test_what_is_not_named_gets_no_cache_and_a_path_of_sessions_that_is_named_stays() -> None:
    ini, originals = with_own_places({"opcache.file_cache": "", "session.save_path": "tcp://127.0.0.1"}, Arm("a", PHP), made)
    assert ini == {"opcache.file_cache": "", "session.save_path": "tcp://127.0.0.1"}
    assert originals == {}


def test_what_php_itself_says_of_the_probe_is_said_after_it() -> None:
    assert askable(of_php(PHP)) == {"disable_functions": "exec", "open_basedir": "/srv"}
    assert of_php(PhpBuild("/x", "8.2.0")) == {}
    assert askable({"php_admin_value[disable_functions]": "ini_get_all"}) == {"php_admin_value[disable_functions]": ""}


def app(original: Path, seen_at: Path | None = None) -> PreparedApp:
    return PreparedApp("a", Path("/live/app/public"), Workload(()), root=Path("/live/app"), original=original, seen_at=seen_at)


def test_paths_below_the_original_lead_to_the_copy() -> None:
    ini = {"auto_prepend_file": "/srv/shop/pre.php", "include_path": ".:/srv/shop/lib:/usr/share/php", "x": "/srv/shopping", "y": "1"}
    led, originals = led_to_copy(ini, app(original=Path("/srv/shop")))
    assert led == {
        "auto_prepend_file": "/live/app/pre.php",
        "include_path": ".:/live/app/lib:/usr/share/php",
        "x": "/srv/shopping",
        "y": "1",
    }
    assert originals["/live/app/pre.php"] == "/srv/shop/pre.php"


def test_where_the_servers_see_the_copy_at_the_path_of_the_original_nothing_changes() -> None:
    ini = {"auto_prepend_file": "/srv/shop/pre.php"}
    assert led_to_copy(ini, app(original=Path("/srv/shop"), seen_at=Path("/srv/shop"))) == (ini, {})
