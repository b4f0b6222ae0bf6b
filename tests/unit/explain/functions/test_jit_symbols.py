"""Names of the JIT's code, by the map that PHP writes for perf."""

import os

import pytest

from phpdyno.explain.functions.jit_symbols import HELPER, JitMap, php_name, read_jit_map
from phpdyno.explain.functions.native import JIT, UNKNOWN, samples_in

MAP = """\
1000 57 JIT$$interrupt_handler
1060 ed1 TRACE-32$WP_Post_Type::set_props$597
2000 100 JIT$rows
2100 10 ESCAPE-685-1
2000 80 JIT$lines
not a line
30f0 20 JIT$/srv/app/index.php
"""


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("TRACE-53$WP_Hook::apply_filters$299", "WP_Hook::apply_filters"),
        ("TRACE-53$a$b", "a$b"),
        ("JIT$rows", "rows"),
        ("JIT${closure}", "{closure}"),
        ("JIT$/srv/app/index.php", "/srv/app/index.php"),
        ("JIT$$double_one", HELPER),
        ("jit$$trace_exit_32", HELPER),
        ("ESCAPE-788-0", HELPER),
    ],
)
def test_the_php_function_of_a_symbol(symbol: str, name: str) -> None:
    assert php_name(symbol) == name


def test_an_address_has_the_name_of_the_newest_code_that_lies_there() -> None:
    found = JitMap(MAP)
    assert found.name(0x1060) == "WP_Post_Type::set_props"
    assert found.name(0x1F30) == "WP_Post_Type::set_props"
    assert found.name(0x1F31) == ""
    assert found.name(0x2010) == "lines"
    assert found.name(0x2105) == HELPER
    assert found.name(0x30FF) == "/srv/app/index.php"
    assert found.name(0xFFF) == ""
    assert JitMap().name(0x1060) == ""


def test_rows_of_perf_without_a_file_are_named_by_it() -> None:
    report = """
      70|[JIT] tid 3192          |[.] 0x0000000000001061
      30|[JIT] tid 3192          |[.] 0x0000000000001f00
      20|[JIT] tid 3192          |[.] 0x0000000000009000
       5|php-fpm8.2              |[.] 0x0000000000001061
    """
    assert samples_in(report, JitMap(MAP)) == {(JIT, "WP_Post_Type::set_props"): 100, (JIT, UNKNOWN): 20, ("php-fpm8.2", UNKNOWN): 5}


def test_a_process_that_told_nothing_has_no_names() -> None:
    assert read_jit_map([os.getpid(), 2**22 + 1]).name(0x1060) == ""
