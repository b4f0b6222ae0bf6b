"""What is read of programs that are there on any Debian, and of files that are none."""

from pathlib import Path

import pytest

from phpdyno.build.elf import libraries_of, text_kib
from phpdyno.errors import DynoError

SHELL = Path("/bin/sh")


def test_a_program_names_its_libraries_and_the_size_of_its_text() -> None:
    assert "libc.so.6" in libraries_of(SHELL)
    assert 0 < text_kib(SHELL) <= SHELL.stat().st_size // 1024


@pytest.mark.parametrize("size", [0, 3, 20, 63])
def test_what_was_cut_off_is_no_program(size: int, tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_bytes(SHELL.read_bytes()[:size])
    assert libraries_of(short) == ()
    with pytest.raises(DynoError, match="no ELF program"):
        text_kib(short)


def test_a_script_is_no_program(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 0\n" * 100)
    assert libraries_of(script) == ()
    with pytest.raises(DynoError, match="no ELF program"):
        text_kib(script)
