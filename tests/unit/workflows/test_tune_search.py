from pathlib import Path

from phpdyno.workflows.tune_search import asked_values, set_aside

OFFERED = {"ini.opcache.jit": ("tracing", "function"), "ini.realpath_cache_ttl": ("600",)}


def test_all_that_is_offered_unless_something_is_asked_for() -> None:
    assert asked_values(OFFERED, ()) == OFFERED
    assert asked_values(OFFERED, ("ini.realpath_cache_ttl",)) == {"ini.realpath_cache_ttl": ("600",)}
    assert asked_values(OFFERED, ("ini.opcache.preload",)) == {}


def test_values_that_are_named_take_the_place_of_the_catalogue_s() -> None:
    named = ("ini.opcache.jit=function", "ini.opcache.jit=off", "ini.output_buffering=65536")
    assert asked_values(OFFERED, named) == {"ini.opcache.jit": ("function", "off"), "ini.output_buffering": ("65536",)}


def test_files_that_are_not_there_are_not_tried(tmp_path: Path) -> None:
    library = tmp_path / "libmalloc.so"
    library.touch()
    offered = {"env.LD_PRELOAD": ("/no/such/library.so", str(library))}
    assert asked_values(offered, ()) == {"env.LD_PRELOAD": (str(library),)}
    assert asked_values({"env.LD_PRELOAD": ("/no/such/library.so",)}, ()) == {}


def test_what_would_take_anothers_pages_is_not_tried_beside_it() -> None:
    heap, pages = "env.USE_ZEND_ALLOC_HUGE_PAGES", "os.vm.nr_hugepages"
    assert set_aside((heap, "ini.opcache.jit", pages)) == {heap: pages}
    assert set_aside((heap, "ini.opcache.jit")) == {}
    assert set_aside((pages,)) == {}
