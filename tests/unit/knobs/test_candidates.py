"""What `tune` tries beside a control: values that its worker gives reason to try, with what they
need to have an effect."""

import pytest
from msgspec import structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.knobs.catalogue import CATALOGUE, knob_for
from phpdyno.knobs.judge import candidates, check_together, in_control
from phpdyno.knobs.knob import Whole, with_needs
from phpdyno.model.facts import WorkerFacts
from tests.support.made_up.facts import HOST, JIT_ON, NO_OPCACHE, PLAIN, with_ini, with_jit, with_opcache, with_servers


def test_memory_is_tried_only_where_it_is_short() -> None:
    def tried(name: str, facts: WorkerFacts) -> tuple[str, ...]:
        return CATALOGUE[name].tried(facts, HOST)

    memory = with_ini(with_opcache(used_bytes=120 << 20, free_bytes=8 << 20), opcache__memory_consumption="128")
    assert tried("ini.opcache.memory_consumption", memory) == ("256", "512")
    assert tried("ini.opcache.memory_consumption", with_ini(PLAIN, opcache__memory_consumption="128")) == ()
    assert tried("ini.opcache.memory_consumption", NO_OPCACHE) == ()
    strings = with_ini(with_opcache(strings_bytes=6 << 20, strings_free_bytes=1 << 10), opcache__interned_strings_buffer="8")
    assert tried("ini.opcache.interned_strings_buffer", strings) == ("16", "32")
    files = with_ini(with_opcache(keys=15_000, most_keys=16_229), opcache__max_accelerated_files="10000")
    assert tried("ini.opcache.max_accelerated_files", files) == ("20000", "40000")
    assert tried("ini.opcache.enable", NO_OPCACHE) == ("1",)
    assert tried("ini.opcache.enable", PLAIN) == ()
    assert tried("ini.realpath_cache_size", structs.replace(PLAIN, realpath_cache_bytes=4_000_000)) == ("16384K",)
    assert tried("ini.realpath_cache_size", PLAIN) == ()


def test_huge_pages_are_tried_where_the_host_has_some() -> None:
    never = structs.replace(HOST, thp="never")
    assert CATALOGUE["ini.opcache.huge_code_pages"].tried(PLAIN, HOST) == ("1",)
    assert CATALOGUE["ini.opcache.huge_code_pages"].tried(structs.replace(PLAIN, exe="/usr/sbin/apache2"), HOST) == ()
    assert CATALOGUE["ini.opcache.huge_code_pages"].tried(PLAIN, never) == ()
    assert CATALOGUE["env.USE_ZEND_ALLOC_HUGE_PAGES"].tried(PLAIN, never) == ()
    assert CATALOGUE["env.GLIBC_TUNABLES"].tried(PLAIN, structs.replace(HOST, hugetlb_pages=8)) == (
        "glibc.malloc.hugetlb=2",
        "glibc.malloc.hugetlb=1",
    )


def test_a_php_without_a_jit_tries_none() -> None:
    old = structs.replace(PLAIN, php_version="7.4.33")
    assert CATALOGUE["ini.opcache.jit"].tried(old, HOST) == ()
    assert CATALOGUE["ini.opcache.jit"].tried(PLAIN, HOST) == ("tracing", "function")
    assert CATALOGUE["ini.opcache.preload"].fits("7.4.33")
    assert not CATALOGUE["ini.opcache.preload"].fits("7.3.33")


def test_a_setting_brings_what_it_needs() -> None:
    hot = {"ini.opcache.jit_hot_loop": "16"}
    mode, buffer = {"ini.opcache.jit": "tracing"}, {"ini.opcache.jit_buffer_size": "64M"}
    assert with_needs(hot, {}, knob_for) == Whole({**hot, **mode, **buffer}, {})
    assert with_needs(hot, in_control(PLAIN, {}), knob_for) == Whole({**hot, **mode, **buffer}, {})
    assert with_needs(hot, in_control(with_ini(PLAIN, opcache__jit="tracing"), {}), knob_for) == Whole({**hot, **buffer}, mode)
    assert with_needs(hot, in_control(with_jit(PLAIN, JIT_ON), {}), knob_for) == Whole(hot, {**mode, **buffer})
    assert with_needs({"ini.opcache.jit_buffer_size": "128M"}, {}, knob_for).settings["ini.opcache.jit"] == "tracing"
    assert with_needs({**hot, "ini.opcache.jit": "1235"}, {}, knob_for).settings == {**hot, "ini.opcache.jit": "1235", **buffer}
    assert with_needs({"ini.memory_limit": "1G", "env.X": "y"}, {}, knob_for) == Whole({"ini.memory_limit": "1G", "env.X": "y"}, {})
    assert with_needs({"ini.opcache.jit": "off"}, {}, knob_for).settings == {"ini.opcache.jit": "off"}
    with pytest.raises(DynoError, match=r"has no effect with ini\.opcache\.jit=off"):
        with_needs({**hot, "ini.opcache.jit": "off"}, {}, knob_for)


def test_what_a_control_has() -> None:
    found = in_control(PLAIN, {"pool.pm": "dynamic", "ini.realpath_cache_ttl": "as written"})
    assert found["pool.pm"] == "dynamic"
    assert found["web.socket"] == "unix"
    assert found["ini.realpath_cache_ttl"] == "120"


def test_candidates_are_what_the_control_does_not_show_already() -> None:
    found = candidates(PLAIN, HOST, {"pool.pm.max_children": "2"})
    assert found["ini.opcache.jit"] == ("tracing", "function")
    assert found["ini.opcache.validate_timestamps"] == ("0",)
    assert found["web.socket"] == ("tcp",)
    assert found["pool.pm"] == ("dynamic", "ondemand")
    assert found["pool.pm.max_children"] == ("4", "1")
    assert "web.access_log" not in found
    assert not [name for name in found if name.startswith("os.")]
    off = with_ini(PLAIN, opcache__validate_timestamps="Off", realpath_cache_ttl="600")
    assert {"ini.opcache.validate_timestamps", "ini.realpath_cache_ttl"}.isdisjoint(candidates(off, HOST, {}))


def test_a_jit_that_is_only_written_down_may_be_tried() -> None:
    written = with_ini(PLAIN, opcache__jit="tracing")
    assert candidates(written, HOST, {})["ini.opcache.jit"] == ("tracing", "function")
    assert candidates(with_jit(PLAIN, JIT_ON), HOST, {})["ini.opcache.jit"] == ("function",)


def test_an_access_log_is_tried_where_the_control_writes_one() -> None:
    logging = with_servers(web_workers=1, access_log_bytes=500)
    assert candidates(logging, HOST, {"web.access_log": "on"})["web.access_log"] == ("off", "buffered")


def test_kept_connections_must_leave_a_worker() -> None:
    check_together({"web.fastcgi_keepalive": "3", "pool.pm.max_children": "4"}, where="x")
    check_together({"pool.pm.max_children": "1"}, where="x")
    for settings in ({"pool.pm.max_children": "4", "web.workers": "2"}, {}):
        with pytest.raises(UsageError, match="none would be left"):
            check_together({"web.fastcgi_keepalive": "3", **settings}, where="x")
