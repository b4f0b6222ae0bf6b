import re

from phpdyno.knobs.hardened import ASKED, asked_in, without_asked
from phpdyno.package import PHP_FILES

OTHERS = frozenset({"file_get_contents", "count", "is_array", "in_array", "strncmp", "strlen", "substr", "str_repeat", "trim", "explode"})
"""Functions of the probe that nobody disables, and one that it looks for first."""

LANGUAGE = frozenset({"declare", "array", "isset", "foreach", "if", "while"})


def test_what_is_asked_with_is_enabled_and_all_else_stays_disabled() -> None:
    assert without_asked("exec, getmypid,opcache_get_status , ini_set") == "exec,ini_set"
    assert without_asked("exec, ini_set") == "exec, ini_set"
    assert without_asked("") == ""
    assert asked_in("exec, GetMyPid,opcache_get_status") == ("GetMyPid", "opcache_get_status")


def test_the_probe_calls_nothing_else_that_could_be_disabled() -> None:
    text = re.sub(r"//[^\n]*", "", (PHP_FILES / "probe.php").read_text())
    called = set(re.findall(r"(?<![\w$>:])([a-z_][a-z0-9_]*)\(", text)) - LANGUAGE
    assert called - OTHERS - ASKED <= {"array_map", "array_filter", "array_values", "array_unique"}
