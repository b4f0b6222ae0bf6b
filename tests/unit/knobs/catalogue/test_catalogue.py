"""Every declaration is complete; what is tried depends on the control; contrasts ask for more than
the control has."""

import pytest
from msgspec import structs

from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import CATALOGUE, OS_NAMES
from phpdyno.knobs.catalogue.environment import ALLOCATORS
from phpdyno.knobs.catalogue.host import PAGES, enough_pages, with_room
from phpdyno.knobs.catalogue.jit import BUFFER
from phpdyno.knobs.catalogue.opcache import pages_for
from phpdyno.knobs.domain import BITS, BUFFERS, WEB_SIZE, buffers_bytes
from phpdyno.knobs.judge import check_values, not_effective, prove
from phpdyno.knobs.page import knobs_page
from phpdyno.model.facts import KernelFacts, OpcacheFacts, WorkerFacts
from phpdyno.servers.host_settings import refuse_host_settings
from tests.support.made_up.facts import (
    HOST,
    JIT_ON,
    NO_OPCACHE,
    OPCACHE,
    PLAIN,
    with_ini,
    with_jit,
    with_kernel,
    with_opcache,
    with_servers,
)
from tests.support.places import ROOT

NAMED_BY_THE_ISSUE = [
    "ini.opcache.enable",
    "ini.opcache.memory_consumption",
    "ini.opcache.interned_strings_buffer",
    "ini.opcache.max_accelerated_files",
    "ini.opcache.validate_timestamps",
    "ini.opcache.revalidate_freq",
    "ini.opcache.enable_file_override",
    "ini.opcache.optimization_level",
    "ini.opcache.save_comments",
    "ini.opcache.huge_code_pages",
    "os.vm.nr_hugepages",
    "ini.opcache.jit",
    "ini.opcache.jit_buffer_size",
    "ini.opcache.jit_hot_func",
    "ini.opcache.jit_hot_loop",
    "ini.opcache.jit_hot_return",
    "ini.opcache.jit_hot_side_exit",
    "ini.opcache.preload",
    "ini.realpath_cache_size",
    "ini.realpath_cache_ttl",
    "ini.zend.assertions",
    "ini.output_buffering",
    "env.USE_ZEND_ALLOC_HUGE_PAGES",
    "env.GLIBC_TUNABLES",
    "env.LD_BIND_NOW",
    "env.LD_PRELOAD",
    "pool.pm",
    "pool.pm.max_children",
    "pool.pm.max_requests",
    "web.socket",
    "pool.listen.backlog",
    "web.fastcgi_keepalive",
    "web.fastcgi_buffers",
    "web.workers",
    "web.access_log",
    "os.thp",
    "os.net.core.somaxconn",
]


def test_all_knobs_that_the_issue_names_are_declared() -> None:
    assert set(NAMED_BY_THE_ISSUE) <= CATALOGUE.keys()


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_declaration_is_complete(name: str) -> None:
    knob = CATALOGUE[name]
    assert knob.layer in {"ini", "pool", "web", "env", "os"}
    assert knob.reference
    assert "://" not in knob.reference
    assert knob.seen
    assert knob.price
    assert knob.tries or knob.untried
    assert not callable(knob.tries) or knob.untried or name == "pool.pm.max_children"
    if knob.layer in {"web", "os"}:
        assert knob.default is not None
    if knob.default is not None:
        assert knob.domain.accepts(knob.default)
    for needed, value in knob.needs.items():
        assert CATALOGUE[needed].domain.accepts(value)


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("facts", [PLAIN, NO_OPCACHE, with_opcache(full=1, keys=16000, most_keys=16229), structs.replace(PLAIN, workers=4)])
def test_what_is_tried_is_in_the_domain(name: str, facts: WorkerFacts) -> None:
    for value in CATALOGUE[name].tried(facts, HOST):
        check_values({name: value}, where="tries")


def test_the_page_is_made_from_the_catalogue() -> None:
    page = knobs_page()
    assert all(f"### `{name}`\n" in page for name in CATALOGUE)
    assert (ROOT / "docs" / "reference" / "knobs.md").read_text() == page


def test_new_domains() -> None:
    assert BITS.same("0x7FFEBFFF", str(0x7FFEBFFF))
    assert not BITS.accepts("all")
    assert buffers_bytes("16 16k") == 256 << 10
    assert BUFFERS.same("8 4096", "8 4k")
    for wrong in ("1 4k", "8", "8 0k", "8 4k; root /", "8 4g"):
        assert not BUFFERS.accepts(wrong)
    assert WEB_SIZE.same("16k", "16384")
    for wrong in ("0", "16g", "-1", "4k;"):
        assert not WEB_SIZE.accepts(wrong)


def test_opcache_s_memory_is_what_it_uses_has_free_and_wasted() -> None:
    proof = CATALOGUE["ini.opcache.memory_consumption"].proof
    facts = with_opcache(used_bytes=100 << 20, free_bytes=150 << 20, wasted_bytes=6 << 20)
    assert proof(facts, "256")[0]
    assert not proof(facts, "128")[0]
    assert not proof(NO_OPCACHE, "128")[0]


def test_the_strings_buffer_less_its_hash_table() -> None:
    proof = CATALOGUE["ini.opcache.interned_strings_buffer"].proof
    eight = with_opcache(strings_bytes=6_291_008, strings_free_bytes=4_000_000)
    assert proof(eight, "8")[0]
    assert not proof(eight, "16")[0]
    assert not proof(eight, "4")[0]
    assert proof(with_opcache(), "0")[0]
    assert not proof(eight, "0")[0]


def test_a_table_that_is_rounded_to_the_control_s_is_no_change() -> None:
    sixteen = structs.replace(with_opcache(most_keys=16229), ini={**PLAIN.ini, "opcache.max_accelerated_files": "16000"})
    ten = structs.replace(with_opcache(most_keys=16229), ini={**PLAIN.ini, "opcache.max_accelerated_files": "10000"})
    (outcome,) = prove({"ini.opcache.max_accelerated_files": "16000"}, ten, sixteen, {})
    assert not outcome.proved
    assert "the control's 16229" in outcome.detail
    larger = structs.replace(sixteen, opcache=structs.replace(OPCACHE, most_keys=32531))
    assert prove({"ini.opcache.max_accelerated_files": "16000"}, ten, larger, {})[0].proved


def test_preloading_is_proved_by_the_number_of_scripts() -> None:
    proof = CATALOGUE["ini.opcache.preload"].proof
    asked = with_ini(with_opcache(preloaded_scripts=120), opcache__preload="/srv/p.php")
    assert proof(asked, "/srv/p.php") == (True, "120 scripts preloaded; opcache.preload = '/srv/p.php' in the worker")
    assert not proof(structs.replace(asked, opcache=OPCACHE), "/srv/p.php")[0]
    assert proof(PLAIN, "")[0]
    assert not proof(asked, "")[0]


def test_jit_thresholds_do_nothing_without_the_jit_or_its_traces() -> None:
    proof = CATALOGUE["ini.opcache.jit_hot_loop"].proof
    tracing = with_ini(with_jit(PLAIN, JIT_ON), opcache__jit_hot_loop="16")
    assert proof(tracing, "16")[0]
    assert not proof(tracing, "32")[0]
    assert not proof(with_ini(PLAIN, opcache__jit_hot_loop="16"), "16")[0]
    whole = with_ini(with_jit(PLAIN, JIT_ON, "function"), opcache__jit_hot_loop="16")
    assert proof(whole, "16") == (False, "opcache.jit=function does not count this, so this setting does nothing")
    hot = with_ini(with_jit(PLAIN, JIT_ON, "1235"), opcache__jit_hot_loop="16", opcache__jit_hot_return="4")
    assert proof(hot, "16")[0]
    assert not CATALOGUE["ini.opcache.jit_hot_return"].proof(hot, "4")[0]


def test_heap_pages_are_not_tried_where_reserved_ones_would_be_taken_for_it() -> None:
    knob = CATALOGUE["env.USE_ZEND_ALLOC_HUGE_PAGES"]
    assert knob.tried(PLAIN, structs.replace(HOST, thp="madvise", hugetlb_pages=0)) == ("1",)
    assert knob.tried(PLAIN, structs.replace(HOST, thp="madvise", hugetlb_pages=8)) == ()
    assert knob.tried(PLAIN, structs.replace(HOST, thp="never", hugetlb_pages=0)) == ()
    assert "os.vm.nr_hugepages" in knob.apart


def test_huge_pages_must_be_more_than_the_control_s() -> None:
    name = "env.USE_ZEND_ALLOC_HUGE_PAGES"
    asked = structs.replace(PLAIN, env={"USE_ZEND_ALLOC_HUGE_PAGES": "1"}, anon_huge_kib=4096)
    assert prove({name: "1"}, PLAIN, asked, {})[0].proved
    always = structs.replace(PLAIN, anon_huge_kib=4096)
    (outcome,) = prove({name: "1"}, always, asked, {})
    assert not outcome.proved
    assert "4096 KiB of huge pages in the worker, 4096 in the control's" in not_effective((outcome,))


def test_huge_code_pages_are_those_of_code() -> None:
    asked = with_ini(PLAIN, opcache__huge_code_pages="1")
    control = with_ini(PLAIN, opcache__huge_code_pages="0")
    name = "ini.opcache.huge_code_pages"
    assert not prove({name: "1"}, control, asked, {})[0].proved
    # Opcache's memory takes reserved pages as well.
    assert not prove({name: "1"}, control, structs.replace(asked, hugetlb_kib=131072, anon_huge_kib=2048), {})[0].proved
    moved = structs.replace(asked, kernel=structs.replace(asked.kernel, code_huge_kib=4096, text_kib=1200))
    assert prove({name: "0"}, moved, control, {})[0].proved
    assert "; 1200 KiB of the program's code are on small pages; " in prove({name: "1"}, control, moved, {})[0].detail


def test_tunables_of_malloc() -> None:
    def asked(value: str, **more: int) -> WorkerFacts:
        return structs.replace(PLAIN, env={"GLIBC_TUNABLES": value}, **more)

    one, two, other = "glibc.malloc.hugetlb=1", "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=2", "glibc.malloc.arena_max=1"
    assert not prove({"env.GLIBC_TUNABLES": one}, PLAIN, asked(one), {})[0].proved
    assert prove({"env.GLIBC_TUNABLES": one}, PLAIN, asked(one, anon_huge_kib=2048), {})[0].proved
    assert not prove({"env.GLIBC_TUNABLES": two}, PLAIN, asked(two, anon_huge_kib=2048), {})[0].proved
    assert prove({"env.GLIBC_TUNABLES": two}, PLAIN, asked(two, hugetlb_kib=2048), {})[0].proved
    (outcome,) = prove({"env.GLIBC_TUNABLES": other}, PLAIN, asked(other), {})
    assert outcome.proved
    assert "nothing in a worker with one thread" in outcome.detail


def test_binding_at_once_is_no_news_where_nothing_waits() -> None:
    proof = CATALOGUE["env.LD_BIND_NOW"].proof
    asked = structs.replace(PLAIN, env={"LD_BIND_NOW": "1"})
    assert not proof(structs.replace(asked, kernel=KernelFacts(lazy=())), "1")[0]
    assert proof(structs.replace(asked, kernel=KernelFacts(lazy=("/lib/x.so",))), "1")[0]
    assert not proof(PLAIN, "1")[0]


@pytest.mark.parametrize(
    ("name", "wanted", "facts", "proved"),
    [
        ("pool.pm", "dynamic", with_servers(process_manager="dynamic"), True),
        ("pool.pm", "dynamic", with_servers(process_manager="static"), False),
        ("pool.pm.max_children", "4", structs.replace(with_servers(process_manager="static"), workers=2), False),
        ("pool.pm.max_children", "4", structs.replace(with_servers(process_manager="static"), workers=3), True),
        ("pool.pm.max_children", "4", structs.replace(with_servers(process_manager="static"), workers=4), True),
        ("pool.pm.max_children", "4", structs.replace(with_servers(process_manager="dynamic"), workers=1), True),
        ("pool.listen.backlog", "8192", structs.replace(with_servers(listen_limit=4096), kernel=KernelFacts(somaxconn=4096)), True),
        ("pool.listen.backlog", "-1", structs.replace(with_servers(listen_limit=4096), kernel=KernelFacts(somaxconn=4096)), True),
        ("pool.listen.backlog", "100", structs.replace(with_servers(listen_limit=511), kernel=KernelFacts(somaxconn=4096)), False),
        ("web.workers", "2", with_servers(web_workers=2), True),
        ("web.workers", "2", with_servers(web_workers=1), False),
        ("web.workers", "2", with_servers(web_workers=0), False),
        ("web.fastcgi_keepalive", "2", with_servers(web_workers=1, kept_connections=1), True),
        ("web.fastcgi_keepalive", "2", with_servers(web_workers=1, kept_connections=0), False),
        ("web.fastcgi_keepalive", "0", with_servers(web_workers=1, kept_connections=0), True),
        ("web.fastcgi_buffers", "16 16k", with_servers(web_workers=1), True),
        ("web.fastcgi_buffers", "16 16k", with_servers(web_workers=0), False),
        ("web.access_log", "on", with_servers(web_workers=1, access_log_bytes=90), True),
        ("web.access_log", "on", with_servers(web_workers=1, access_log_bytes=0), False),
        ("web.access_log", "buffered", with_servers(web_workers=1, access_log_bytes=0), True),
        ("web.access_log", "off", with_servers(web_workers=1), True),
        ("web.access_log", "off", with_servers(web_workers=1, access_log_bytes=0), False),
        ("os.vm.nr_hugepages", "64", with_kernel(hugepages=64), True),
        ("os.vm.nr_hugepages", "64", with_kernel(hugepages=192), True),
        ("os.vm.nr_hugepages", "64", with_kernel(hugepages=60), False),
        ("os.vm.nr_hugepages", "64", PLAIN, False),
        ("os.thp", "never", with_kernel(thp_off=True), True),
        ("os.thp", "never", with_kernel(thp_off=False), False),
        ("os.thp", "never", PLAIN, False),
        ("os.net.core.somaxconn", "128", with_kernel(somaxconn=128), True),
        ("os.net.core.somaxconn", "128", with_kernel(somaxconn=4096), False),
    ],
)
def test_servers_and_kernel_show_it(name: str, wanted: str, facts: WorkerFacts, proved: bool) -> None:
    assert CATALOGUE[name].proof(facts, wanted)[0] is proved


def test_a_process_without_huge_pages_has_none_to_switch_off() -> None:
    off = with_kernel(thp_off=True)
    assert not prove({"os.thp": "never"}, PLAIN, off, {})[0].proved
    assert prove({"os.thp": "never"}, structs.replace(PLAIN, anon_huge_kib=2048), off, {})[0].proved


def test_host_settings_are_checked_and_refused_where_they_may_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    assert frozenset({"vm.nr_hugepages", "thp", "net.core.somaxconn"}) == OS_NAMES
    with pytest.raises(UsageError, match="it takes a whole number"):
        check_values({"os.vm.nr_hugepages": "many"}, where="x")
    monkeypatch.setattr("phpdyno.servers.host_settings.os.access", lambda *_: False)
    with pytest.raises(UsageError, match=r"os\.vm\.nr_hugepages cannot be set here; run as root"):
        refuse_host_settings({"ini.opcache.jit": "off", "os.vm.nr_hugepages": "64"}, where="x")
    refuse_host_settings({"ini.opcache.jit": "off", "os.thp": "never"}, where="x")
    monkeypatch.setattr("phpdyno.servers.host_settings.os.access", lambda *_: True)
    refuse_host_settings({"os.vm.nr_hugepages": "64"}, where="x")


def test_pages_are_tried_where_memory_has_room_for_a_dozen_instances() -> None:
    facts = structs.replace(PLAIN, opcache=structs.replace(OPCACHE, used_bytes=28 << 20, free_bytes=100 << 20, jit=None))
    assert enough_pages(facts, structs.replace(HOST, memory_kib=24 << 20)) == ("64",)
    assert enough_pages(facts, structs.replace(HOST, memory_kib=4 << 20)) == ()


def test_pages_are_of_the_size_that_the_host_has() -> None:
    """arm64 with pages of 64 KiB: one page of 512 MiB holds all that an instance shares."""
    facts = structs.replace(PLAIN, opcache=structs.replace(OPCACHE, used_bytes=28 << 20, free_bytes=100 << 20, jit=None))
    arm = structs.replace(HOST, hugepage_kib=512 << 10)
    assert enough_pages(facts, structs.replace(arm, memory_kib=24 << 20)) == ()  # 2 % of 24 GiB is less
    assert enough_pages(facts, structs.replace(arm, memory_kib=64 << 20)) == ("1",)
    assert with_room({PAGES: "1", BUFFER: "64M"}, 512 << 10) == {PAGES: "2", BUFFER: "64M"}
    assert with_room({PAGES: "64", BUFFER: "64M"}) == {PAGES: "96", BUFFER: "64M"}


def test_pages_for_instances() -> None:
    opcache: OpcacheFacts = structs.replace(OPCACHE, used_bytes=28 << 20, free_bytes=100 << 20, jit=JIT_ON)
    assert pages_for(opcache, 3174, 1) == 64 + 32 + 2
    assert pages_for(None, 3174, 3) == 6
    assert all(path.startswith("/usr/lib/") for each in ALLOCATORS for path in each.paths)


def test_prices() -> None:
    def kib(name: str, value: str) -> int | None:
        return CATALOGUE[name].price_kib(value)

    assert kib("ini.opcache.memory_consumption", "256") == 262_144
    assert kib("ini.opcache.jit_buffer_size", "64M") == 65_536
    assert kib("web.fastcgi_buffers", "16 16k") == 256
    assert "Hugepagesize" in str(CATALOGUE["os.vm.nr_hugepages"].price)
    assert kib("ini.realpath_cache_size", "4M") is None
