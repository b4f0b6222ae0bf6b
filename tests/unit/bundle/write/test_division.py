"""Which file carries which setting."""

import pytest
from msgspec import structs

from phpdyno.bundle.write.division import MARK, divide, fragment_names, mark_of
from phpdyno.config.fpm_conf import Variables, read_fpm_conf
from phpdyno.errors import UsageError
from tests.support.made_up.bundles import CONTROL, PHP, SETTINGS


def test_every_setting_is_in_one_file_or_left_to_a_person() -> None:
    division = divide(SETTINGS, CONTROL, PHP)
    placed = [name for names in division.of.values() for name in names]
    assert sorted([*placed, *division.by_hand]) == sorted(SETTINGS)
    assert division.texts["ini"] == {"opcache.jit": "tracing", "opcache.jit_buffer_size": "64M"}
    assert division.texts["pool-first"] == {"php_admin_value[memory_limit]": "256M"}
    assert division.texts["systemd"] == {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"}
    assert division.texts["nginx"] == {"fastcgi_buffers": "16 16k"}
    assert division.texts["sysctl"] == {"vm.nr_hugepages": "64"}
    assert list(division.by_hand) == ["web.workers"]
    assert "worker_processes 2;" in division.by_hand["web.workers"]


def test_what_the_pool_says_itself_is_outdone_in_the_pool() -> None:
    control = {"pool.php_value[memory_limit]": "64M"}
    assert divide({"ini.memory_limit": "1G"}, control, PHP).texts == {"pool-first": {"php_admin_value[memory_limit]": "1G"}}
    admin = {"pool.php_admin_value[memory_limit]": "64M"}
    given = {"pool.php_value[memory_limit]": "1G"}
    assert divide(given, admin, PHP).texts == {"pool-first": {"php_admin_value[memory_limit]": "1G"}}
    assert divide(given, {}, PHP).texts == {"pool-first": {"php_value[memory_limit]": "1G"}}


def test_directives_count_last_and_bring_a_mark() -> None:
    last = divide({"pool.pm.max_children": "8"}, {}, PHP).texts["pool-last"]
    assert last["pm.max_children"] == "8"
    assert last[f"env[{MARK}]"] == mark_of({"pm.max_children": "8"})
    assert last[f"env[{MARK}]"] != mark_of({"pm.max_children": "9"})


def test_a_dynamic_pool_gets_the_spare_workers_that_it_was_measured_with() -> None:
    last = divide({"pool.pm": "dynamic", "pool.pm.max_children": "4"}, {}, PHP).texts["pool-last"]
    assert (last["pm.start_servers"], last["pm.min_spare_servers"], last["pm.max_spare_servers"]) == ("2", "1", "3")
    theirs = {"pool.pm.start_servers": "4", "pool.pm.min_spare_servers": "2", "pool.pm.max_spare_servers": "4"}
    kept = divide({"pool.pm": "dynamic", "pool.pm.max_children": "4"}, theirs, PHP).texts["pool-last"]
    assert set(kept) == {"pm", "pm.max_children", f"env[{MARK}]"}


def test_variables_that_count_when_php_starts_are_the_services() -> None:
    division = divide({"env.GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "env.USE_ZEND_ALLOC_HUGE_PAGES": "1", "env.APP_MODE": "x"}, {}, PHP)
    assert set(division.texts["systemd"]) == {"GLIBC_TUNABLES", "USE_ZEND_ALLOC_HUGE_PAGES"}
    assert division.texts["pool-first"] == {"env[APP_MODE]": "x"}


def test_the_bundles_own_preload_script() -> None:
    division = divide({"ini.opcache.preload": "/srv/run/preload.php"}, {}, PHP, preload="/etc/php/8.2/fpm/phpdyno-preload.php")
    assert division.texts["ini"] == {"opcache.preload": "/etc/php/8.2/fpm/phpdyno-preload.php", "opcache.preload_user": "www-data"}
    theirs = divide({"ini.opcache.preload": "/srv/preload.php"}, {}, PHP)
    assert theirs.texts["ini"] == {"opcache.preload": "/srv/preload.php"}


def test_what_no_added_file_can_outdo_is_left_to_a_person() -> None:
    one_file = structs.replace(PHP, pool_file=PHP.config)
    assert "[www] of /etc/php/8.2/fpm/php-fpm.conf" in divide({"pool.pm": "static"}, {}, one_file).by_hand["pool.pm"]
    defined = structs.replace(PHP, defined=("opcache.jit",))
    assert "command line" in divide({"ini.opcache.jit": "off"}, {}, defined).by_hand["ini.opcache.jit"]
    unscanned = structs.replace(PHP, ini_dir="")
    assert "php.ini" in divide({"ini.opcache.jit": "off"}, {}, unscanned).by_hand["ini.opcache.jit"]
    for name in ("os.thp", "app.debug", "ext.apcu", "php", "source", "web.socket", "web.fastcgi_keepalive"):
        assert set(divide({name: "x"}, {}, PHP).by_hand) == {name}
    assert divide({"web.access_log": "off"}, {}, PHP).texts == {"nginx": {"access_log": "off"}}
    assert set(divide({"web.access_log": "buffered"}, {}, PHP).by_hand) == {"web.access_log"}


@pytest.mark.parametrize("value", ["live:www", "a\nb", "a\0b", "a\x1bb"])
def test_values_that_do_not_belong_into_a_file_are_refused(value: str) -> None:
    with pytest.raises(UsageError):
        divide({"env.X": value}, {}, PHP)


@pytest.mark.parametrize("own", ["www.conf", "zzz.conf", "00-a.conf", "zz-phpdyno.conf", "", "!a.conf"])
def test_fragments_lie_around_the_pools_own_file(own: str) -> None:
    first, last = fragment_names(f"/etc/php/8.2/fpm/pool.d/{own}" if own else "")
    assert first != own != last
    assert sorted([own or "www.conf", first, last])[1] == (own or "www.conf")


def test_php_fpm_would_read_the_fragments_as_meant(tmp_path_factory: pytest.TempPathFactory) -> None:
    """By our reader, which follows php-fpm's source: the pool's own lines in the middle."""
    place = tmp_path_factory.mktemp("fpm")
    (place / "pool.d").mkdir()
    (place / "fpm.conf").write_text(f"[global]\ninclude = {place}/pool.d/*.conf\n")
    first, last = fragment_names("www.conf")
    (place / "pool.d" / "www.conf").write_text("[www]\npm = dynamic\nphp_admin_value[memory_limit] = 1M\n")
    (place / "pool.d" / first).write_text("[www]\nphp_admin_value[memory_limit] = 2M\n")
    (place / "pool.d" / last).write_text("[www]\npm = static\n")
    entries = read_fpm_conf(place / "fpm.conf", prefix=place, variables=Variables({}))["www"]
    assert [(entry.key, entry.value) for entry in entries] == [
        ("php_admin_value", "2M"),
        ("pm", "dynamic"),
        ("php_admin_value", "1M"),
        ("pm", "static"),
    ]


def test_fewer_workers_than_a_running_pool_has_spare_ones() -> None:
    control = {"pool.pm": "dynamic", "pool.pm.max_children": "5", "pool.pm.min_spare_servers": "1", "pool.pm.max_spare_servers": "3"}
    last = divide({"pool.pm.max_children": "2"}, control, PHP).texts["pool-last"]
    assert {key: value for key, value in last.items() if key.startswith("pm")} == {
        "pm.max_children": "2",
        "pm.start_servers": "2",
        "pm.max_spare_servers": "2",
    }
    more = divide({"pool.pm.max_children": "9"}, {**control, "pool.pm.start_servers": "2"}, PHP).texts["pool-last"]
    assert {key for key in more if key.startswith("pm")} == {"pm.max_children"}
