"""What configuring and compiling leave in a source: make would take it for fresh, however old it
is."""

from phpdyno.php_build.compile.tree_commands import REMOVED, TreeCommands

MARKS = ("config.status", "Makefile.objects")
"""Files of a directory that was configured."""
SUFFIXES = (".lo", ".loT", ".o", ".la", ".a", ".dep", ".gcda", ".gcno", ".so")
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
"""What `make distclean` removes, and what it forgets of the JIT's. The Makefile itself is not
asked: it names the directory in which it was made, and this is a copy."""
COMPILED = (".lo", ".o", ".la", ".a")
"""Suffixes of what make makes anew in a tree of ours."""
PROFILE = "*.gcda"
OF_LIBTOOL = ".libs"
"""Where what modules are linked of lies."""


def forget_compiling(commands: TreeCommands, below: str = ".") -> None:
    """Remove what an earlier configure and make left in a copy of a source, in a directory of the
    tree; nothing where it was never configured. Raises DynoError."""
    home = commands.place / below
    if any((home / mark).is_file() for mark in MARKS):
        commands.do(["find", ".", "-name", OF_LIBTOOL, *REMOVED], cwd=home)
        commands.do(["find", ".", "(", *_ending_in(SUFFIXES), ")", "!", "-type", "d", "-delete"], cwd=home)
        commands.remove(*GENERATED, cwd=home)


def remove_compiled(commands: TreeCommands) -> None:
    """Remove what make made; profiles stay, beside the sources and beside what modules are linked
    of. Raises DynoError."""
    of_modules = ["-path", f"*/{OF_LIBTOOL}/*", "!", "-name", PROFILE]
    commands.do(["find", ".", "(", *_ending_in(COMPILED), "-o", *of_modules, ")", *REMOVED])


def _ending_in(suffixes: tuple[str, ...]) -> list[str]:
    """find's condition."""
    words = [word for suffix in suffixes for word in ("-o", "-name", f"?*{suffix}")]
    return ["(", *words[1:], ")"]
