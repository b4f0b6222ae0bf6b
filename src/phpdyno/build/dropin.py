"""A drop-in on disk: programs, and a directory of extensions in which all but opcache are the distribution's own, linked."""

import re
import shutil
from pathlib import Path

from phpdyno.build.tree import MODULE, Built
from phpdyno.errors import DynoError

EXTENSIONS = "extensions"
_VM_KIND = re.compile(r"#define\s+ZEND_VM_KIND\s+ZEND_VM_KIND_(\w+)")


def assemble(built: Built, place: Path, distribution: Path) -> None:
    """Put programs and extensions in a fresh directory. An extension of the distribution that is upgraded there is upgraded here too.

    Raises DynoError where the distribution's directory is not there.
    """
    if not distribution.is_dir():
        raise DynoError("the distribution's directory of extensions is not there", where=str(distribution))
    extensions = place / EXTENSIONS
    extensions.mkdir(parents=True)
    for name, program in built.programs.items():
        shutil.copyfile(program, place / name)
        (place / name).chmod(0o755)
    for module in sorted(distribution.glob("*.so")):
        if module.name != MODULE or built.opcache is None:
            (extensions / module.name).symlink_to(module)
    if built.opcache is not None:
        shutil.copyfile(built.opcache, extensions / MODULE)


def php_of(place: Path) -> dict[str, str]:
    """The drop-in in a directory as settings of the layer php."""
    return {"fpm": str(place / "php-fpm"), "extension_dir": str(place / EXTENSIONS)}


def vm_kind(said: str) -> str:
    """Which interpreter is compiled (`HYBRID`), by the macros of Zend/zend_vm_opcodes.h as the preprocessor sees them. Raises DynoError.

    With GCC it is the hybrid one, whose registers are global variables; a compiler without those falls back to CALL, which is slower.
    """
    found = _VM_KIND.search(said)
    if found is None:
        raise DynoError("these sources do not say which interpreter they have", where="Zend/zend_vm_opcodes.h")
    return found[1]
