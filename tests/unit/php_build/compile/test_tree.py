"""What is run in a tree, and what of an earlier compiling stays in it; the commands are run by a
fake."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.php_build.compile.flags import flags_of
from phpdyno.php_build.compile.tree import ADDED, PROGRAMS, SourceTree
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.unit.php_build.compile.test_leftovers import files, filled
from tests.unit.php_build.fakes import FakeSupervisor

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


class FakeCompiling(FakeSupervisor):
    """Makes what is made; make compiles C with what it is told in one variable."""

    def __init__(self, live: Path, heard: str = "EXTRA_CFLAGS", *, warns: str = "") -> None:
        super().__init__(live)
        self.asked: list[tuple[str, ...]] = []
        self.environments: list[Mapping[str, str]] = []
        self._heard = heard
        self._warns = warns

    def spawn(self, name: str, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> FakeChild:
        self.asked.append(tuple(argv))
        self.environments.append(env)
        if argv[0] != "make":
            return FakeChild("")
        filled(cwd, *PROGRAMS.values(), "modules/opcache.so", f"modules/{cwd.name}.so")
        flags = " ".join(word.partition("=")[2] for word in argv if word.startswith(f"{self._heard}="))
        return FakeChild(f"libtool --mode=compile cc -O2 {flags} -c a.c -o a.lo\n{self._warns}")

    def made(self) -> list[dict[str, str]]:
        """What make was told: variables, and the targets by the name ''."""
        found = []
        for _, _, *words in (argv for argv in self.asked if argv[0] == "make"):
            said = {name: value for name, _, value in (word.partition("=") for word in words if "=" in word)}
            found.append({**said, "": " ".join(word for word in words if "=" not in word)})
        return found


def tree(place: Path, supervisor: FakeCompiling) -> SourceTree:
    filled(place, "Makefile", "configure", "libtool")
    return SourceTree(place, cast(Supervisor, supervisor), lambda *_: None)


def with_extension(place: Path, makefile: str = "") -> None:
    home = place / ADDED / "answers"
    home.mkdir(parents=True)
    (home / "Makefile").write_text(makefile)


MAKEFILE = """shared_objects_opcache = ext/opcache/ZendAccelerator.lo ext/opcache/jit/zend_jit_vm_helpers.lo
Zend/zend_execute.lo: Zend/zend_execute.c
ext/opcache/ZendAccelerator.lo: ext/opcache/ZendAccelerator.c
ext/opcache/jit/zend_jit_vm_helpers.lo: ext/opcache/jit/zend_jit_vm_helpers.c
ext/opcache/opcache.la: $(shared_objects_opcache)
"""
LIBTOOL = "build_libtool_libs=yes\nbuild_old_libs=yes\n  build_libtool_libs=no\n"
PROGRAM_FILES = " ".join(PROGRAMS.values())


@pytest.mark.parametrize(("there", "anew", "made"), [(True, False, False), (True, True, True), (False, False, True)])
def test_configure_is_made_where_there_is_none_or_what_it_is_made_of_is_patched(
    tmp_path: Path, *, there: bool, anew: bool, made: bool
) -> None:
    supervisor = FakeCompiling(tmp_path / "live")
    wanted = tree(tmp_path, supervisor)
    if not there:
        (tmp_path / "configure").unlink()
    wanted.configure(("--enable-fpm",), anew=anew)
    assert (("./buildconf", "--force") in supervisor.asked) == made
    assert supervisor.asked[-1] == ("./configure", "--quiet", "--enable-fpm")


def test_what_compilers_need_meanwhile_lies_where_it_is_removed_after_any_end(tmp_path: Path) -> None:
    supervisor = FakeCompiling(tmp_path / "live")
    tree(tmp_path, supervisor).compile(O3, "compiling o3")
    (place,) = {env["TMPDIR"] for env in supervisor.environments}
    assert Path(place).is_dir()
    assert Path(place).is_relative_to(supervisor.live)


def test_profiles_stay_where_compiling_left_them_a_modules_too(tmp_path: Path) -> None:
    kept = {"Makefile", "configure", "libtool", "main/main.c", "main/main.gcda", "ext/opcache/.libs/ZendAccelerator.gcda"}
    compiled = ("main/main.lo", "main/main.o", "ext/opcache/.libs/ZendAccelerator.o", "ext/opcache/.libs/opcache.so", "sapi/fpm/php-fpm")
    filled(tmp_path, *kept, *compiled)
    tree(tmp_path, FakeCompiling(tmp_path / "live")).clean()
    assert files(tmp_path) == kept


def test_an_extension_is_compiled_by_the_recipe_of_all_the_rest(tmp_path: Path) -> None:
    supervisor = FakeCompiling(tmp_path / "live")
    wanted = tree(tmp_path, supervisor)
    with_extension(tmp_path, "EXTRA_CFLAGS = -std=gnu11\nEXTRA_LDFLAGS =\n")
    wanted.compile(O3, "compiling o3")
    assert {"EXTRA_CFLAGS=-std=gnu11 -O3", "EXTRA_CXXFLAGS=-O3"} <= set(supervisor.asked[-1])


def test_one_that_was_compiled_without_its_flags_is_no_build_of_that_recipe(tmp_path: Path) -> None:
    wanted = tree(tmp_path, FakeCompiling(tmp_path / "live", "PROF_FLAGS"))
    with_extension(tmp_path)
    with pytest.raises(DynoError, match=r"answers: this extension was compiled without -O3"):
        wanted.compile(O3, "compiling o3")


def test_each_file_is_compiled_for_what_it_is_linked_into_and_for_nothing_else(tmp_path: Path) -> None:
    supervisor = FakeCompiling(tmp_path / "live")
    wanted = tree(tmp_path, supervisor)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "libtool").write_text(LIBTOOL)
    wanted.compile(O3, "compiling o3")
    made = supervisor.made()
    assert [(each[""], each["LIBTOOL"], each["PROF_FLAGS"]) for each in made] == [
        (PROGRAM_FILES, "$(SHELL) $(top_builddir)/libtool-programs --preserve-dup-deps", "-O3"),
        ("build-modules", "$(SHELL) $(top_builddir)/libtool-modules --preserve-dup-deps", "-O3"),
    ]
    assert (tmp_path / "libtool-programs").read_text() == "build_libtool_libs=no\nbuild_old_libs=yes\n  build_libtool_libs=no\n"
    assert (tmp_path / "libtool-modules").read_text() == "build_libtool_libs=yes\nbuild_old_libs=no\n  build_libtool_libs=no\n"


def test_what_keeps_its_registers_is_compiled_first_as_part_of_what_it_belongs_to(tmp_path: Path) -> None:
    supervisor = FakeCompiling(tmp_path / "live")
    wanted = tree(tmp_path, supervisor)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    wanted.compile(flags_of(parse_recipe("lto"), "plain"), "compiling lto")
    made = supervisor.made()
    assert [(each[""], "-fno-lto" in each["PROF_FLAGS"]) for each in made] == [
        ("Zend/zend_execute.lo", True),
        (PROGRAM_FILES, False),
        ("ext/opcache/jit/zend_jit_vm_helpers.lo", True),
        ("build-modules", False),
    ]


@pytest.mark.parametrize(
    ("missed", "found"),
    [
        ("ext/opcache/ZendAccelerator.gcda", False),
        ("ext/opcache/.libs/ZendAccelerator.gcda", False),
        ("ext/opcache/jit/ZendAccelerator.gcda", True),
        ("sapi/cli/php_cli.gcda", True),
    ],
)
def test_a_profile_that_the_compiler_looks_for_elsewhere_is_an_error(tmp_path: Path, missed: str, *, found: bool) -> None:
    warns = f"x.c:1:1: warning: ‘{tmp_path / missed}’ profile count data file not found [-Wmissing-profile]"
    wanted = tree(tmp_path, FakeCompiling(tmp_path / "live", warns=warns))
    filled(tmp_path, "ext/opcache/.libs/ZendAccelerator.gcda", "main/main.gcda")
    if found:
        wanted.compile(O3, "compiling o3")
    else:
        with pytest.raises(DynoError, match=r"has not found 1 of the 2 profiles, as that of ext/opcache/\.libs/ZendAccelerator.gcda"):
            wanted.compile(O3, "compiling o3")
