"""A source in which something was compiled before: what make would take for fresh is forgotten, the
rest stays."""

from pathlib import Path
from typing import cast

from phpdyno.php_build.compile.leftovers import MARKS, forget_compiling
from phpdyno.php_build.compile.tree_commands import TreeCommands
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.unit.php_build.fakes import FakeSupervisor

OLD = (
    "Makefile",
    "config.status",
    "libtool",
    "main/php_config.h",
    "main/main.lo",
    "main/main.dep",
    "main/.libs/main.o",
    "ext/opcache/.libs/opcache.so",
    "ext/opcache/minilua",
    "ext/opcache/jit/zend_jit_x86.c",
    "ext/opcache/jit/ir/ir_fold_hash.h",
)
SOURCE = ("configure", "main/main.c", "main/php_version.h", "ext/opcache/jit/zend_jit_x86.dasc", "ext/opcache/jit/ir/Makefile")


def filled(place: Path, *names: str) -> Path:
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(name)
    return place


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def commands_in(place: Path) -> TreeCommands:
    return TreeCommands(place, cast(Supervisor, FakeSupervisor(place.with_name("live"))), lambda *_: None)


def test_what_an_earlier_make_left_is_forgotten(tmp_path: Path) -> None:
    forget_compiling(commands_in(filled(tmp_path / "tree", *SOURCE, *OLD)))
    assert files(tmp_path / "tree") == set(SOURCE)


def test_a_source_that_was_never_configured_stays_as_it_is(tmp_path: Path) -> None:
    here = {*SOURCE, *OLD} - set(MARKS)
    forget_compiling(commands_in(filled(tmp_path / "tree", *here)))
    assert files(tmp_path / "tree") == here
