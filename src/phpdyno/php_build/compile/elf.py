"""What an ELF program says of its text and of the libraries that it is linked with."""

import re
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter, itemgetter
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import P_FLAGS, SH_FLAGS
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection
from elftools.elf.segments import Segment

from phpdyno.errors import DynoError
from phpdyno.model.build import CodeSection

_SPLIT_OFF = re.compile(r"\.cold(\.\d+)?$")
"""What GCC and BOLT call the part of a function that hardly ever runs."""


def text_kib(binary: Path) -> int:
    """KiB of a program's code. Raises DynoError for any other file."""
    return sum(code_kib(binary))


def code_kib(binary: Path) -> tuple[int, ...]:
    """KiB of code in each executable segment of a program, in the order of addresses. Raises
    DynoError for any other file.

    BOLT puts what it lays out into a segment of its own behind all others, and leaves the code that
    was there where it is. opcache.huge_code_pages moves the first executable mapping of a file in
    /proc/self/maps and no other, which is the first of these.
    """
    try:
        with binary.open("rb") as file:
            program = ELFFile(file)
            loaded = [each for each in program.iter_segments("PT_LOAD") if each["p_flags"] & P_FLAGS.PF_X]
            sections = [each for each in program.iter_sections() if each["sh_flags"] & SH_FLAGS.SHF_EXECINSTR]
    except ELFError as error:
        raise DynoError(f"this is no ELF program: {error}", where=str(binary)) from error
    return tuple(_kib_in(segment, sections) for segment in sorted(loaded, key=itemgetter("p_vaddr")))


def code_sections(binary: Path) -> tuple[CodeSection, ...]:
    """Sections of a program's code of a KiB or more, in the order of addresses. Raises DynoError
    for any other file."""
    try:
        with binary.open("rb") as file:
            program = ELFFile(file)
            sections = {
                number: each
                for number, each in enumerate(program.iter_sections())
                if each["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and each["sh_size"] >= 1024
            }
            symbols = program.get_section_by_name(".symtab")
            split = Counter[int]()
            if isinstance(symbols, SymbolTableSection):
                for symbol in symbols.iter_symbols():
                    if symbol["st_info"]["type"] == "STT_FUNC" and _SPLIT_OFF.search(symbol.name):
                        split[symbol["st_shndx"]] += symbol["st_size"]
    except ELFError as error:
        raise DynoError(f"this is no ELF program: {error}", where=str(binary)) from error
    placed = sorted(sections.items(), key=lambda each: int(each[1]["sh_addr"]))
    return tuple(CodeSection(each.name, -(-each["sh_size"] // 1024), -(-split[number] // 1024)) for number, each in placed)


def _kib_in(segment: Segment, sections: Sequence[Section]) -> int:
    """KiB of the executable sections of a segment, of which BOLT's begins with an empty page of 2
    MiB; all of one without sections."""
    inside = range(segment["p_vaddr"], segment["p_vaddr"] + segment["p_memsz"])
    return -(-(sum(each["sh_size"] for each in sections if each["sh_addr"] in inside) or len(inside)) // 1024)


def libraries_of(binary: Path) -> tuple[str, ...]:
    """File names of the libraries that a program is linked with; none of any other file."""
    try:
        with binary.open("rb") as file:
            dynamic = (each for each in ELFFile(file).iter_segments("PT_DYNAMIC") if isinstance(each, DynamicSegment))
            # The library gives a tag the attribute of its name: no type says so.
            return tuple(attrgetter("needed")(tag) for each in dynamic for tag in each.iter_tags("DT_NEEDED"))
    except ELFError:
        return ()
