"""The table of `strace -c`, as several versions of strace print it."""

import pytest

from phpdyno.explain.tracing.strace import remedy
from phpdyno.explain.tracing.syscalls import parse_summary
from phpdyno.model.runs.study import SyscallCount

WITH_ERRORS = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 50.70    0.000036           1        24           clock_nanosleep
 23.94    0.000017           0        48        24 newfstatat
 15.49    0.000011           0        24           openat
  4.23    0.000003           0        24        24 ioctl
------ ----------- ----------- --------- --------- ----------------
100.00    0.000071           0       120        48 total
"""
WITHOUT_ERRORS = """\
% time     seconds  usecs/call     calls syscall
------ ----------- ----------- --------- ----------------
100.00    0.000011           0        24 openat
  0.00    0.000000           0         3 close
------ ----------- ----------- --------- ----------------
100.00    0.000011           0        27 total
"""
OLD_TOTAL = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 29.99    0.512695           3    174053           fstat
  1.14    0.019432           4      5102       100 stat
------ ----------- ----------- --------- --------- ----------------
100.00    0.532127                179155       100 total
"""


def test_a_table_whose_errors_are_blank_where_none_failed() -> None:
    assert parse_summary(WITH_ERRORS) == (
        SyscallCount("newfstatat", 48, 24),
        SyscallCount("clock_nanosleep", 24, 0),
        SyscallCount("ioctl", 24, 24),
        SyscallCount("openat", 24, 0),
    )


def test_a_table_without_the_errors_column() -> None:
    assert parse_summary(WITHOUT_ERRORS) == (SyscallCount("openat", 24, 0), SyscallCount("close", 3, 0))


def test_a_total_without_a_time_per_call() -> None:
    assert parse_summary(OLD_TOTAL) == (SyscallCount("fstat", 174_053, 0), SyscallCount("stat", 5_102, 100))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no whole table"),
        ("strace: Process 1 attached\n", "no whole table"),
        (WITH_ERRORS.rsplit("------", 5)[0], "no whole table"),
        (WITH_ERRORS.replace(" total", ""), "no whole table"),
        (WITH_ERRORS.replace("calls", "times"), "unknown columns"),
        (WITH_ERRORS.replace("        24           openat", "        24  7  8 openat"), "does not fit its columns"),
        (WITH_ERRORS.replace("        24           openat", "       x24           openat"), "invalid literal"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_summary(text)


@pytest.mark.parametrize(
    ("scope", "said"), [(0, "run phpdyno as root; in a container"), (1, "ptrace_scope is 1: run"), (2, "is 2: run"), (3, "reboot")]
)
def test_the_way_out_depends_on_the_hosts_own_rule(scope: int, said: str) -> None:
    assert said in remedy(scope)
