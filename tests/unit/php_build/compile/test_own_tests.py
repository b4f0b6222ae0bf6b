"""What the output of run-tests.php comes to."""

import pytest

from phpdyno.errors import DynoError
from phpdyno.php_build.compile.own_tests import check_of

SAID = """
PASS Bug #1 [Zend/tests/bug1.phpt]
TEST 2/3 [1/2 concurrent test workers running]\r            \rFAIL Bug #2 [Zend/tests/bug2.phpt]
SKIP Bug #3 [ext/opcache/tests/bug3.phpt] reason: no
=====================================================================
Number of tests :   3                 2
Tests skipped   :   1 ( 33.3%) --------
Tests warned    :   0 (  0.0%) (  0.0%)
Tests failed    :   1 ( 33.3%) ( 50.0%)
Tests passed    :   1 ( 33.3%) ( 50.0%)
---------------------------------------------------------------------
"""


def test_what_failed_is_named() -> None:
    found = check_of(SAID)
    assert (found.ok, found.seen) == (False, "1 passed, 1 failed (Zend/tests/bug2.phpt), 1 skipped")


def test_all_is_well_where_none_failed() -> None:
    found = check_of(SAID.replace("FAIL Bug", "PASS Bug").replace("Tests failed    :   1", "Tests failed    :   0"))
    assert (found.ok, found.seen) == (True, "1 passed, 0 failed, 1 skipped")


def test_where_all_are_skipped_nothing_is_known_to_be_well() -> None:
    said = SAID.replace("Tests failed    :   1", "Tests failed    :   0").replace("Tests passed    :   1", "Tests passed    :   0")
    found = check_of(said.replace("FAIL Bug", "SKIP Bug").replace("PASS Bug", "SKIP Bug"))
    assert (found.ok, found.seen) == (False, "0 passed, 0 failed, 1 skipped")


def test_silence_is_no_pass() -> None:
    with pytest.raises(DynoError, match="said nothing"):
        check_of("Could not open input file: run-tests.php")
