"""Hot functions from perf's report."""

import pytest

from phpdyno.explain.functions.native import JIT, KERNEL, UNKNOWN, function_of, hot_pass, samples_in

REPORT = """
    1200|php-fpm                  |[.] execute_ex
     300|php-fpm8.2               |[.] zend_hash_find.part.0
     100|php-fpm8.2               |[.] zend_hash_find
     250|[kernel.kallsyms]        |[k] copy_user_generic_unrolled
      50|/usr/lib/x86_64-linux-gnu/libc.so.6|[.] 0x00000000000a1b2c
      70|[JIT] tid 3192          |[.] 0x00007f2a8c0
# a comment
nonsense
"""


def test_rows_are_read_and_parts_of_a_function_counted_together() -> None:
    assert samples_in(REPORT) == {
        ("php-fpm", "execute_ex"): 1200,
        ("php-fpm8.2", "zend_hash_find"): 400,
        (KERNEL, "copy_user_generic_unrolled"): 250,
        ("libc.so.6", UNKNOWN): 50,
        (JIT, UNKNOWN): 70,
    }
    assert samples_in("perf: no samples") == {}


@pytest.mark.parametrize(
    ("symbol", "function"),
    [
        ("execute_ex", "execute_ex"),
        ("zend_hash_find.part.0.cold", "zend_hash_find"),
        ("php_request.constprop.0.isra.0", "php_request"),
        ("execute_ex.cold.0", "execute_ex"),
        ("mb_fast/1", "mb_fast"),
        ("memcpy@plt", "memcpy"),
        ("0x00007f12", UNKNOWN),
        ("zend_vm.handler", "zend_vm.handler"),
    ],
)
def test_a_symbol_is_named_without_what_the_compiler_adds(symbol: str, function: str) -> None:
    assert function_of(symbol) == function


def test_samples_become_microseconds_per_request_of_both_arms() -> None:
    before = {("php-fpm8.2", "execute_ex"): 600, (KERNEL, "read"): 200, ("opcache.so", "fetch"): 200}
    after = {("php-fpm", "execute_ex"): 500, (KERNEL, "read"): 500}
    found = hot_pass(("o2", "pgo"), (before, after), (1000.0, 800.0), 40, {"php-fpm8.2": "php-fpm"})
    assert [(each.name, each.place, each.before_us, each.after_us) for each in found.functions] == [
        ("execute_ex", "php-fpm", 600.0, 400.0),
        ("read", KERNEL, 200.0, 400.0),
        ("fetch", "opcache.so", 200.0, 0.0),
    ]
    assert {each.place: (each.before_us, each.after_us) for each in found.places} == {
        "php-fpm": (600.0, 400.0),
        KERNEL: (200.0, 400.0),
        "opcache.so": (200.0, 0.0),
    }
    assert (found.samples, found.requests) == (2000, 40)


def test_an_arm_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        hot_pass(("o2", "pgo"), ({("php-fpm", "f"): 1}, {}), (1.0, 1.0), 1, {})
