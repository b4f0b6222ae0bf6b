"""What configuring and compiling leave in a source: make would take it for fresh, however old it is."""

import shutil
from pathlib import Path

MARKS = ("config.status", "Makefile.objects")
"""Files of a directory that was configured."""
SUFFIXES = frozenset({".lo", ".loT", ".o", ".la", ".a", ".dep", ".gcda", ".gcno", ".so"})
GENERATED = (
    "Makefile",
    "Makefile.fragments",
    "Makefile.objects",
    "autom4te.cache",
    "config.cache",
    "config.log",
    "config.nice",
    "config.status",
    "libtool",
    "main/build-defs.h",
    "main/internal_functions.c",
    "main/internal_functions_cli.c",
    "main/php_config.h",
    "Zend/zend_dtrace_gen.h",
    "ext/opcache/minilua",
    "ext/opcache/jit/zend_jit_x86.c",
    "ext/opcache/jit/zend_jit_arm64.c",
    "ext/opcache/jit/ir/gen_ir_fold_hash",
    "ext/opcache/jit/ir/ir_emit_aarch64.h",
    "ext/opcache/jit/ir/ir_emit_x86.h",
    "ext/opcache/jit/ir/ir_fold_hash.h",
    "ext/opcache/jit/ir/minilua",
)
"""What `make distclean` removes, and what it forgets of the JIT's. The Makefile itself is not asked: it names the directory in which it
was made, and this is a copy."""


def forget_compiling(copy: Path) -> None:
    """Remove what an earlier configure and make left in a copy of a source; nothing where it was never configured. Raises OSError."""
    if not any((copy / mark).is_file() for mark in MARKS):
        return
    for path in list(copy.rglob("*")):
        if path.name == ".libs":
            remove(path)
        elif path.suffix in SUFFIXES and not path.is_dir():
            path.unlink(missing_ok=True)
    for name in GENERATED:
        remove(copy / name)


def remove(path: Path) -> None:
    """Remove a file, a link, or a directory with all that is in it; nothing where it is not there. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
