"""A build on disk: programs, and a directory of extensions: in a drop-in all but opcache are the
distribution's own, linked."""

import os
import re
import shutil
from pathlib import Path

from phpdyno.config.spec import NONE
from phpdyno.errors import DynoError
from phpdyno.model.build import BuildCheck
from phpdyno.php_build.compile.tree import MODULE, Built

EXTENSIONS = "extensions"
BESIDE_INI = "conf.d"
"""Debian's directory of further ini files, beside php.ini."""
_VM_KIND = re.compile(r"#define\s+ZEND_VM_KIND\s+ZEND_VM_KIND_(\w+)")
HYBRID_ON = frozenset({"x86_64", "aarch64"})
QUICK = frozenset({"HYBRID", "TAILCALL"})
"""Kinds of interpreter that keep their registers in the processor's."""


def assemble(built: Built, place: Path, distribution: Path | None) -> None:
    """Put programs and extensions in a fresh directory. An extension of the distribution that is
    upgraded there is upgraded here too.

    `distribution` None: it stands alone, with its extensions compiled in. Raises DynoError where
    that directory is not there.
    """
    extensions = place / EXTENSIONS
    extensions.mkdir(parents=True)
    for name, program in built.programs.items():
        shutil.copyfile(program, place / name)
        (place / name).chmod(0o755)
    if distribution is not None:
        if not distribution.is_dir():
            raise DynoError("the distribution's directory of extensions is not there", where=str(distribution))
        for name in modules_in(distribution):
            if name != MODULE or built.opcache is None:
                (extensions / name).symlink_to(distribution / name)
    if built.opcache is not None:
        shutil.copyfile(built.opcache, extensions / MODULE)
    for module in built.added:
        shutil.copyfile(module, extensions / module.name)


def modules_in(distribution: Path) -> tuple[str, ...]:
    """The files of a directory of extensions, in order."""
    return tuple(sorted(path.name for path in distribution.glob("*.so")))


def installed_since(place: Path) -> tuple[str, ...]:
    """Files of extensions that came into the distribution's directory after the drop-in in `place`
    was put together, which is without them; none of one that stands alone, which links none."""
    own = place / EXTENSIONS
    theirs = {path.readlink().parent for path in own.glob("*.so") if path.is_symlink()}
    return tuple(name for folder in sorted(theirs) for name in modules_in(folder) if not os.path.lexists(own / name))


def settings_of(place: Path, *, alone: bool, ini: str = "") -> dict[str, str]:
    """The build in a directory as an arm's settings. `ini` is the php.ini of one that stands alone
    ('' for none). Of the directory beside that it has the settings only: the rest loads extensions
    that it has in itself."""
    settings = {"php": str(place / "php-fpm"), "php.extension_dir": str(place / EXTENSIONS)}
    if not alone:
        return settings
    modules = {f"ext.{path.stem}": str(path) for path in sorted((place / EXTENSIONS).glob("*.so"))}
    beside = Path(ini).with_name(BESIDE_INI) if ini else None
    carried = {"php.settings_dir": str(beside)} if beside is not None and any(beside.glob("*.ini")) else {}
    return {**settings, "php.ini": ini or NONE, "php.scan_dir": NONE, **carried, **modules}


def vm_kind(said: str) -> str:
    """Which interpreter is compiled (`HYBRID`), by the macros of Zend/zend_vm_opcodes.h as the
    preprocessor sees them. Raises DynoError.

    With GCC it is the hybrid one, whose registers are global variables; a compiler without those
    falls back to CALL, which is slower.
    """
    found = _VM_KIND.search(said)
    if found is None:
        raise DynoError("these sources do not say which interpreter they have", where="Zend/zend_vm_opcodes.h")
    return found[1]


def interpreter(kind: str, machine: str) -> BuildCheck:
    """Whether the interpreter is the kind that GCC makes for a machine (`x86_64`): another one
    costs more than any recipe brings."""
    return BuildCheck("interpreter", ok=kind in QUICK or machine not in HYBRID_ON, seen=kind)
