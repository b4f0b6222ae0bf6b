"""What phpize and php-config do, for a PHP that is compiled in its tree and installed nowhere."""

import re
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.php_build.compile.tree_commands import TreeCommands
from phpdyno.php_build.source.given import VERSION, VERSION_FILE

_INCLUDED = re.compile(r"^m4_include\(\[build/([^\]]+)\]\)\n", re.MULTILINE)
_NUMBER = re.compile(r"#define\s+PHP_VERSION_ID\s+(\d+)")
_OWN = re.compile(r"^(EXTRA_\w+) =(.*)$", re.MULTILINE)
_COMPILING = "--mode=compile"
CONFIG = "phpdyno-php-config"
INCLUDES = ("", "/main", "/TSRM", "/Zend", "/ext", "/ext/date/lib")


def phpize(commands: TreeCommands, extension: Path) -> Path:
    """Make an extension's source in a tree ready for autoconf and autoheader; the php-config that
    its configure is given, which answers for the tree.

    Raises DynoError.
    """
    tree, build = commands.place, extension / "build"
    commands.do(["mkdir", "-p", "--", str(build)])
    copied = ["cp", "-L", "-p", "--remove-destination"]
    commands.do(["find", str(tree / "build"), "-maxdepth", "1", "-xtype", "f", "-exec", *copied, "-t", str(build), "--", "{}", "+"])
    commands.do([*copied, "--", str(tree / "run-tests.php"), "."], cwd=extension)
    text = commands.text("scripts/phpize.m4").replace("@prefix@", str(tree))
    # Debian's names the parts of its own libtool; PHP's source has all of libtool in one file.
    macros = _INCLUDED.sub(lambda line: line[0] if (build / line[1]).is_file() else "", text)
    commands.put({"configure.ac": macros, CONFIG: php_config(tree, commands.text(VERSION_FILE))}, cwd=extension)
    return extension / CONFIG


def php_config(tree: Path, header: str) -> str:
    """A php-config whose headers are those of the tree, of the version that `header` defines. It
    names no PHP that could be run: one that is to be trained must not be."""
    version, number = VERSION.search(header), _NUMBER.search(header)
    answers = {
        "prefix": str(tree),
        "include-dir": str(tree),
        "includes": " ".join(f"-I{tree}{place}" for place in INCLUDES),
        "extension-dir": str(tree / "modules"),
        "php-binary": "NONE",
        "version": version[1] if version else "",
        "vernum": number[1] if number else "",
        "ldflags": "",
        "libs": "",
        "configure-options": "",
    }
    cases = "\n".join(f"  --{name}) echo '{answer}';;" for name, answer in answers.items())
    return f'#!/bin/sh\ncase "$1" in\n{cases}\n  *) exit 1;;\nesac\n'


def flag_words(makefile: str, compiling: Sequence[str], linking: Sequence[str]) -> tuple[str, ...]:
    """What make is told so that an extension has a recipe's flags behind all others, its own extra
    ones included.

    PHP's own Makefile has PROF_FLAGS for that, and phpize's has not. What is said on make's command
    line replaces what the Makefile says.
    """
    own = dict(_OWN.findall(makefile))
    wanted = {"EXTRA_CFLAGS": compiling, "EXTRA_CXXFLAGS": compiling, "EXTRA_LDFLAGS": linking}
    return tuple(f"{name}={' '.join((*own.get(name, '').split(), *flags))}" for name, flags in wanted.items())


def refuse_without(flags: Sequence[str], said: str, *, where: str) -> None:
    """Raises DynoError where none of the lines by which make compiled an extension has a recipe's
    flags: it would be another recipe's."""
    lines = [line.split() for line in said.splitlines() if _COMPILING in line]
    if lines and not any(set(flags) <= set(line) for line in lines):
        raise DynoError(f"this extension was compiled without {' '.join(flags)}", where=where)
