"""What is read of programs that are there on any Debian, and of files that are none."""

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.php_build.compile.elf import code_kib, code_sections, libraries_of, text_kib

SHELL = Path("/bin/sh")


def test_a_program_names_its_libraries_and_the_size_of_its_text() -> None:
    assert "libc.so.6" in libraries_of(SHELL)
    assert 0 < text_kib(SHELL) <= SHELL.stat().st_size // 1024


def test_sections_of_code_tell_what_was_split_off_in_them(tmp_path: Path) -> None:
    """By a program of the real compiler: what is marked as cold is a part of its own."""
    source = "int seldom(int, int); int often(int n) { if (__builtin_expect(n == 7, 0)) { __builtin_trap(); } return n * 3; }\n"
    filler = "".join(f'asm(".skip 2048, 0x90"); int number_{n}(void) {{ return {n}; }}\n' for n in range(2))
    cold = "int (*volatile call)(int, int);\n" + "".join(
        f"int branch_{n}(int n) {{ if (__builtin_expect(n == {n}, 0)) {{ {'n += call(n, 1) * 3; ' * 40} }} return n; }}\n" for n in range(3)
    )
    (tmp_path / "program.c").write_text(f"{source}{cold}{filler}int main(void) {{ return often(1) + branch_0(2); }}\n")
    flags = ("-O2", "-freorder-blocks-and-partition", "-fno-inline")
    subprocess.run(["gcc", *flags, "program.c", "-o", "program"], cwd=tmp_path, check=True)
    (text,) = code_sections(tmp_path / "program")
    assert text.name == ".text"
    assert text.kib >= 4
    assert 1 <= text.split_off_kib < text.kib
    subprocess.run(["strip", "program"], cwd=tmp_path, check=True)
    assert [(each.name, each.split_off_kib) for each in code_sections(tmp_path / "program")] == [(".text", 0)]


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


def program(*segments: tuple[int, int, int], sections: Sequence[tuple[int, int]] = ()) -> bytes:
    """An ELF file of segments (flags, address, size) and executable sections (address, size)."""
    names = b"\0.text\0"
    table = 64 + 56 * len(segments)
    headers = b"".join(struct.pack("<IIQQQQQQ", 1, flags, 0, at, at, size, size, 0x200000) for flags, at, size in segments)
    rows = [(0, 0, 0, 0, 0), *((1, 1, 6, at, size) for at, size in sections), (1, 3, 0, 0, len(names))]
    # The last section holds the names, behind the table of sections.
    listed = b"".join(
        struct.pack("<IIQQQQIIQQ", name, kind, flags, at, table + 64 * len(rows) if kind == 3 else 0, size, 0, 0, 1, 0)
        for name, kind, flags, at, size in rows
    )
    place, count = (table, len(rows)) if sections else (0, 0)
    start = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, place, 0, 64, 56, len(segments), 64 if count else 0, count, max(0, count - 1))
    return start + head + headers + (listed + names if sections else b"")


READ, RUN = 4, 5
LAID_OUT = ((READ, 0, 0x1000), (RUN, 0xA00000, 0x2C0000), (RUN, 0x200000, 0x180000), (READ, 0x400000, 0x1000))


@pytest.mark.parametrize(
    ("segments", "sections", "kib"),
    [
        (LAID_OUT[:1], (), ()),
        (LAID_OUT[2:], (), (1536,)),
        (LAID_OUT, (), (1536, 2816)),
        # BOLT's segment begins with the table of segments and 2 MiB of nothing.
        (LAID_OUT, ((0x200000, 0x10), (0x200010, 0x17FC00), (0xC00000, 0xC0000)), (1536, 768)),
    ],
)
def test_code_is_told_by_the_mapping_that_it_will_be_in(
    tmp_path: Path, segments: Sequence[tuple[int, int, int]], sections: Sequence[tuple[int, int]], kib: tuple[int, ...]
) -> None:
    binary = tmp_path / "php-fpm"
    binary.write_bytes(program(*segments, sections=sections))
    assert code_kib(binary) == kib
    assert text_kib(binary) == sum(kib)
