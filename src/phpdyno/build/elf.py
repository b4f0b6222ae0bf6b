"""What an ELF program says of its text and of the libraries that it is linked with."""

from operator import attrgetter
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import P_FLAGS
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from phpdyno.errors import DynoError


def text_kib(binary: Path) -> int:
    """KiB of a program's executable segments. Raises DynoError for any other file."""
    try:
        with binary.open("rb") as file:
            loaded = list(ELFFile(file).iter_segments("PT_LOAD"))
    except ELFError as error:
        raise DynoError(f"this is no ELF program: {error}", where=str(binary)) from error
    return -(-sum(each["p_memsz"] for each in loaded if each["p_flags"] & P_FLAGS.PF_X) // 1024)


def libraries_of(binary: Path) -> tuple[str, ...]:
    """File names of the libraries that a program is linked with; none of any other file."""
    try:
        with binary.open("rb") as file:
            dynamic = (each for each in ELFFile(file).iter_segments("PT_DYNAMIC") if isinstance(each, DynamicSegment))
            # The library gives a tag the attribute of its name: no type says so.
            return tuple(attrgetter("needed")(tag) for each in dynamic for tag in each.iter_tags("DT_NEEDED"))
    except ELFError:
        return ()
