"""What /proc/PID/syscall says, read on its own texts."""

import pytest

from phpdyno.explain.waits.parked import PAGE_FAULT, Parked, parked_in, subject_of
from phpdyno.explain.waits.syscall_numbers import ARM64, BY_MACHINE, X86_64

RECV = b"45 0x6 0x7f2c5a0 0x4000 0x0 0x0 0x0 0x7ffd81 0x7f2c5f\n"


def test_a_process_that_runs_is_parked_nowhere() -> None:
    assert parked_in(b"running\n") is None


def test_the_call_and_its_arguments() -> None:
    assert parked_in(RECV) == Parked(45, (6, 0x7F2C5A0, 0x4000, 0, 0, 0))


def test_a_page_fault_has_no_call() -> None:
    parked = parked_in(b"-1 0x7ffd81 0x7f2c5f\n")
    assert parked == Parked(-1)
    assert subject_of(Parked(-1), X86_64) == ("disk", PAGE_FAULT)


@pytest.mark.parametrize("text", [b"", b"\n", b"45 0x6\n", b"x 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n"])
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (any)
        parked_in(text)


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("accept", "idle"),
        ("accept4", "idle"),
        ("recvfrom", "descriptor"),
        ("ppoll", "many"),
        ("connect", "connect"),
        ("openat", "disk"),
        ("clock_nanosleep", "sleep"),
        ("futex", "lock"),
        ("flock", "lock"),
        ("wait4", "process"),
    ],
)
def test_both_machines_have_the_calls_that_a_worker_waits_in(name: str, subject: str) -> None:
    for numbers in (X86_64, ARM64):
        number = next(number for number, known in numbers.items() if known == name)
        assert subject_of(Parked(number), numbers) == (subject, name)


def test_an_unknown_call_is_named_by_its_number() -> None:
    assert subject_of(Parked(999), X86_64) == ("other", "syscall 999")


def test_every_name_of_a_table_is_there_once() -> None:
    for numbers in BY_MACHINE.values():
        assert len(set(numbers.values())) == len(numbers)


def test_the_numbers_are_the_kernel_s() -> None:
    """From its own tables: arch/x86/entry/syscalls/syscall_64.tbl and
    include/uapi/asm-generic/unistd.h."""
    assert (X86_64[7], X86_64[43], X86_64[45], X86_64[202], X86_64[230]) == ("poll", "accept", "recvfrom", "futex", "clock_nanosleep")
    assert (ARM64[73], ARM64[202], ARM64[207], ARM64[98], ARM64[115]) == ("ppoll", "accept", "recvfrom", "futex", "clock_nanosleep")
