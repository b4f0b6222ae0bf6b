"""Proofs of opcache's settings where it has no shared memory: its status calls it off."""

import pytest
from msgspec import structs

from phpdyno.knobs.catalogue import knob_for
from phpdyno.knobs.proof import FILES_ONLY, OPCACHE_OFF
from tests.support.made_up.facts import NO_OPCACHE

FILES = structs.replace(
    NO_OPCACHE,
    ini={
        **NO_OPCACHE.ini,
        "opcache.enable": "1",
        "opcache.file_cache": "/var/cache/opcache",
        "opcache.file_cache_only": "1",
        "opcache.optimization_level": "0",
        "opcache.memory_consumption": "64",
    },
)


def test_what_acts_on_compiled_code_is_proved_by_its_value() -> None:
    proof = knob_for("ini.opcache.optimization_level").proof
    assert proof(FILES, "0") == (True, "opcache.optimization_level = '0' in the worker")
    assert not proof(FILES, "0x7FFEBFFF")[0]


@pytest.mark.parametrize("name", ["opcache.memory_consumption", "opcache.max_accelerated_files", "opcache.interned_strings_buffer"])
def test_what_is_of_shared_memory_does_nothing_and_says_why(name: str) -> None:
    assert knob_for(f"ini.{name}").proof(FILES, "64") == (False, FILES_ONLY)


def test_opcache_itself_is_at_work_and_what_only_shared_memory_heeds_is_not() -> None:
    assert knob_for("ini.opcache.enable").proof(FILES, "1") == (True, "opcache keeps its code only in files (opcache.file_cache_only)")
    assert knob_for("ini.opcache.enable_file_override").proof(FILES, "1") == (False, FILES_ONLY)


@pytest.mark.parametrize("without", ["opcache.enable", "opcache.file_cache", "opcache.file_cache_only"])
def test_without_one_of_its_settings_opcache_is_off(without: str) -> None:
    off = structs.replace(FILES, ini={name: value for name, value in FILES.ini.items() if name != without})
    assert knob_for("ini.opcache.optimization_level").proof(off, "0") == (False, OPCACHE_OFF)
