"""What is run in a tree, and what of an earlier compiling stays in it; the commands are run by a fake."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from phpdyno.build.flags import flags_of
from phpdyno.build.tree import ADDED, PROGRAMS, Tree
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.stack.supervise import Supervisor
from tests.unit.builds.test_leftovers import files, filled

O3 = flags_of(parse_recipe("o3"), "plain")


class FakeChild:
    """Has ended well, and said something."""

    status = 0

    def __init__(self, said: str) -> None:
        self._said = said

    def wait(self, timeout_s: float) -> bool:
        return True

    def said(self) -> str:
        return self._said


class FakeSupervisor:
    """Makes what is made; make compiles C with what it is told in one variable."""

    def __init__(self, heard: str = "EXTRA_CFLAGS") -> None:
        self.asked: list[tuple[str, ...]] = []
        self._heard = heard

    def spawn(self, name: str, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, as_service: bool) -> FakeChild:
        self.asked.append(tuple(argv))
        if argv[0] != "make":
            return FakeChild("")
        filled(cwd, *PROGRAMS.values(), f"modules/{cwd.name}.so")
        flags = " ".join(word.partition("=")[2] for word in argv if word.startswith(f"{self._heard}="))
        return FakeChild(f"libtool --mode=compile cc -O2 {flags} -c a.c -o a.lo")


def tree(place: Path, supervisor: FakeSupervisor) -> Tree:
    filled(place, "Makefile", "configure")
    return Tree(place, cast(Supervisor, supervisor), lambda *_: None)


def with_extension(place: Path, makefile: str = "") -> None:
    home = place / ADDED / "answers"
    home.mkdir(parents=True)
    (home / "Makefile").write_text(makefile)


@pytest.mark.parametrize(("there", "anew", "made"), [(True, False, False), (True, True, True), (False, False, True)])
def test_configure_is_made_where_there_is_none_or_what_it_is_made_of_is_patched(
    tmp_path: Path, *, there: bool, anew: bool, made: bool
) -> None:
    supervisor = FakeSupervisor()
    wanted = tree(tmp_path, supervisor)
    if not there:
        (tmp_path / "configure").unlink()
    wanted.configure(("--enable-fpm",), anew=anew)
    assert (("./buildconf", "--force") in supervisor.asked) == made
    assert supervisor.asked[-1] == ("./configure", "--quiet", "--enable-fpm")


def test_profiles_stay_where_compiling_left_them_a_modules_too(tmp_path: Path) -> None:
    kept = {"Makefile", "configure", "main/main.c", "main/main.gcda", "ext/opcache/.libs/ZendAccelerator.gcda"}
    compiled = ("main/main.lo", "main/main.o", "ext/opcache/.libs/ZendAccelerator.o", "ext/opcache/.libs/opcache.so", "sapi/fpm/php-fpm")
    filled(tmp_path, *kept, *compiled)
    tree(tmp_path, FakeSupervisor()).clean()
    assert files(tmp_path) == kept


def test_an_extension_is_compiled_by_the_recipe_of_all_the_rest(tmp_path: Path) -> None:
    supervisor = FakeSupervisor()
    wanted = tree(tmp_path, supervisor)
    with_extension(tmp_path, "EXTRA_CFLAGS = -std=gnu11\nEXTRA_LDFLAGS =\n")
    wanted.compile(O3, "compiling o3")
    assert {"EXTRA_CFLAGS=-std=gnu11 -O3", "EXTRA_CXXFLAGS=-O3"} <= set(supervisor.asked[-1])


def test_one_that_was_compiled_without_its_flags_is_no_build_of_that_recipe(tmp_path: Path) -> None:
    wanted = tree(tmp_path, FakeSupervisor("PROF_FLAGS"))
    with_extension(tmp_path)
    with pytest.raises(DynoError, match=r"answers: this extension was compiled without -O3"):
        wanted.compile(O3, "compiling o3")
