"""Domains refuse in words; proofs hold only when the running worker shows the setting at work."""

import msgspec
import pytest

from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import CATALOGUE, knob_for
from phpdyno.knobs.domain import BOOLEAN, JIT, SIZE, integer, size_bytes
from phpdyno.knobs.judge import check_values, not_effective, prove, risks_of
from tests.support.facts import JIT_OFF, JIT_ON, NO_OPCACHE, PLAIN, with_ini, with_jit


@pytest.mark.parametrize(
    ("text", "expected"), [("64M", 64 << 20), ("4096K", 4 << 20), ("1g", 1 << 30), ("123", 123), ("64MB", None), ("", None)]
)
def test_sizes(text: str, expected: int | None) -> None:
    assert size_bytes(text) == expected


def test_spellings_of_one_value_are_the_same() -> None:
    assert BOOLEAN.same("On", "1")
    assert BOOLEAN.same("off", "")
    assert not BOOLEAN.same("on", "off")
    assert SIZE.same("4M", "4096K")
    assert JIT.same("tracing", "1254")
    assert JIT.same("on", "tracing")
    assert JIT.same("0", "off")
    assert not JIT.same("function", "tracing")
    assert integer(1, 9).same("07", "7")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ini.opcache.enable", "maybe"),
        ("ini.opcache.jit", "fast"),
        ("ini.opcache.jit_buffer_size", "64 megabytes"),
        ("pool.pm", "elastic"),
        ("pool.pm.max_children", "0"),
        ("pool.pm.max_children", "many"),
        ("web.socket", "pipe"),
        ("ini.opcache.memory_consumption", "4"),
    ],
)
def test_value_outside_the_domain_names_knob_and_domain(name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_values({name: value}, where="--treatment x")
    assert name in str(caught.value)
    assert "it takes" in str(caught.value)


def test_values_inside_are_accepted() -> None:
    check_values({"ini.opcache.jit": "tracing", "pool.pm": "static", "env.ANY": "x", "ini.some.extension_setting": "y"}, where="")


def test_opcache_off_is_proved_by_its_absence() -> None:
    proof = CATALOGUE["ini.opcache.enable"].proof
    assert proof(NO_OPCACHE, "0")[0]
    assert not proof(PLAIN, "0")[0]
    assert proof(PLAIN, "1")[0]
    assert not proof(NO_OPCACHE, "1")[0]


def test_opcache_on_without_a_hit_is_not_proved() -> None:
    cold = msgspec.structs.replace(PLAIN, opcache=msgspec.structs.replace(PLAIN.opcache, hits=0))  # type: ignore[type-var]
    assert not CATALOGUE["ini.opcache.enable"].proof(cold, "1")[0]


def test_jit_is_proved_by_machine_code_not_by_the_ini() -> None:
    proof = CATALOGUE["ini.opcache.jit"].proof
    assert proof(with_jit(PLAIN, JIT_ON), "tracing")[0]
    assert not proof(with_jit(PLAIN, JIT_ON), "function")[0]
    unused = msgspec.structs.replace(JIT_ON, buffer_free_bytes=JIT_ON.free_at_start_bytes)
    assert not proof(with_jit(PLAIN, unused), "tracing")[0]
    without_buffer, detail = proof(with_jit(PLAIN, JIT_OFF, size="0"), "tracing")
    assert not without_buffer
    assert "jit_buffer_size" in detail
    assert proof(PLAIN, "off")[0]
    assert not proof(with_jit(PLAIN, JIT_ON), "off")[0]


def test_jit_buffer_of_the_wrong_size_is_not_proved() -> None:
    proof = CATALOGUE["ini.opcache.jit_buffer_size"].proof
    assert proof(with_jit(PLAIN, JIT_ON), "64M")[0]
    assert not proof(with_jit(PLAIN, JIT_ON), "128M")[0]
    assert proof(PLAIN, "0")[0]


def test_timestamps_do_nothing_without_opcache() -> None:
    proof = CATALOGUE["ini.opcache.validate_timestamps"].proof
    assert proof(with_ini(PLAIN, opcache__validate_timestamps="0"), "0")[0]
    assert not proof(PLAIN, "0")[0]
    assert not proof(with_ini(NO_OPCACHE, opcache__validate_timestamps="0"), "0")[0]


def test_realpath_cache_that_open_basedir_switched_off_is_not_proved() -> None:
    proof = CATALOGUE["ini.realpath_cache_size"].proof
    bigger = with_ini(PLAIN, realpath_cache_size="16M")
    assert proof(bigger, "16M")[0]
    assert not proof(msgspec.structs.replace(bigger, realpath_cache_bytes=0), "16M")[0]


def test_an_uncatalogued_setting_is_proved_by_its_value_in_force() -> None:
    assert knob_for("ini.memory_limit").proof(PLAIN, "131072K")[0]
    assert not knob_for("ini.precision").proof(PLAIN, "14")[0]
    assert knob_for("env.MODE").proof(msgspec.structs.replace(PLAIN, env={"MODE": "fast"}), "fast")[0]
    assert not knob_for("env.MODE").proof(PLAIN, "fast")[0]
    assert knob_for("php").proof(PLAIN, "/usr/sbin/php-fpm8.2")[0]
    assert not knob_for("php").proof(PLAIN, "/opt/php/php-fpm")[0]


def test_a_setting_that_the_control_has_too_is_not_effective() -> None:
    outcomes = prove({"ini.opcache.validate_timestamps": "on"}, PLAIN, PLAIN, {})
    assert outcomes[0].same_as_control
    assert "the control has the same value" in not_effective(outcomes)


def test_one_setting_that_differs_makes_the_treatment_worth_measuring() -> None:
    treated = with_ini(PLAIN, realpath_cache_ttl="600")
    outcomes = prove({"ini.realpath_cache_ttl": "600", "ini.opcache.validate_timestamps": "1"}, PLAIN, treated, {})
    assert not_effective(outcomes) == ""


def test_one_setting_that_is_not_at_work_spoils_the_treatment() -> None:
    treated = with_ini(PLAIN, realpath_cache_ttl="600")
    outcomes = prove({"ini.realpath_cache_ttl": "600", "ini.opcache.jit": "tracing"}, PLAIN, treated, {})
    assert "ini.opcache.jit=tracing is not effective" in not_effective(outcomes)


def test_an_aa_arm_has_nothing_to_prove() -> None:
    assert not_effective(prove({}, PLAIN, PLAIN, {})) == ""


def test_pool_and_web_settings_are_compared_with_what_the_control_has_by_default() -> None:
    assert prove({"web.workers": "1"}, PLAIN, PLAIN, {})[0].same_as_control
    assert prove({"web.workers": "2"}, PLAIN, PLAIN, {"web.workers": "2"})[0].same_as_control
    assert prove({"web.workers": "2"}, PLAIN, PLAIN, {})[0].proved


def test_a_preloaded_library_must_be_mapped_and_huge_pages_in_use() -> None:
    asked = msgspec.structs.replace(PLAIN, env={"LD_PRELOAD": "/lib/a.so", "USE_ZEND_ALLOC_HUGE_PAGES": "1"})
    assert not knob_for("env.LD_PRELOAD").proof(asked, "/lib/a.so")[0]
    assert knob_for("env.LD_PRELOAD").proof(msgspec.structs.replace(asked, preloaded=("/lib/a.so",)), "/lib/a.so")[0]
    assert not knob_for("env.USE_ZEND_ALLOC_HUGE_PAGES").proof(asked, "1")[0]
    assert knob_for("env.USE_ZEND_ALLOC_HUGE_PAGES").proof(msgspec.structs.replace(asked, anon_huge_kib=2048), "1")[0]


def test_boolean_words_and_extensions_are_understood() -> None:
    assert knob_for("ini.expose_php").proof(with_ini(PLAIN, expose_php=""), "Off")[0]
    assert not knob_for("ini.expose_php").proof(with_ini(PLAIN, expose_php="1"), "Off")[0]
    assert knob_for("ini.zend_extension").proof(PLAIN, "opcache")[0]
    assert not knob_for("ini.extension").proof(PLAIN, "redis.so")[0]


def test_a_jit_that_compiled_nothing_is_not_proved() -> None:
    started = msgspec.structs.replace(JIT_ON, buffer_free_bytes=JIT_ON.free_at_start_bytes)
    assert not CATALOGUE["ini.opcache.jit"].proof(with_jit(PLAIN, started), "tracing")[0]


def test_risks_are_named_for_what_has_them() -> None:
    assert risks_of({"ini.memory_limit": "1G"}) == ()
    assert "reload" in risks_of({"ini.opcache.validate_timestamps": "0"})[0]
