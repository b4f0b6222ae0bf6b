"""A configured source tree, and compiling in it. Objects remember where they were compiled, so a tree never moves."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.build.flags import VM_FILES, Flags
from phpdyno.build.leftovers import forget_compiling, remove
from phpdyno.build.phpize import flag_words, phpize, refuse_without
from phpdyno.build.profiles import OF_LIBTOOL, PROFILE, refuse_unread, written
from phpdyno.errors import DynoError
from phpdyno.host.trees import copy_without_rights
from phpdyno.stack.supervise import Child, Supervisor

Tell = Callable[[str, float], None]
"""Told what is being done and which share of it is done."""

PROGRAMS = {"php-fpm": "sapi/fpm/php-fpm", "php-cgi": "sapi/cgi/php-cgi", "php": "sapi/cli/php"}
MODULE = "opcache.so"
OPCACHE = f"modules/{MODULE}"
OPCACHE_HOME = "ext/opcache"
ADDED = "added"
"""The directory of a tree in which extensions lie that are not PHP's own."""
PLAIN = {"CFLAGS": "-O2", "CXXFLAGS": "-O2", "LDFLAGS": ""}
SIGNALS = Path(__file__).with_name("profile_signals.c")
COMPILED = frozenset({".lo", ".o", ".la", ".a"})
POLL_S = 0.5
LOOK_S = 5.0
MOST_S = 3600.0
NEVER = {"programs": "build_libtool_libs", "modules": "build_old_libs"}
"""What libtool is kept from, by what is made: left to itself it compiles each file for programs and for modules, and one is never used."""
_OBJECT = re.compile(r"^(\S+\.lo):", re.MULTILINE)
_OF_MODULES = re.compile(r"^shared_objects_\w+ = (.*)$", re.MULTILINE)
_ERROR = re.compile(r"(?:error|Error|undefined reference|No space left)[: ].*")


class Built(Struct, frozen=True):
    """What compiling yields: programs by name, opcache's module, None where it is compiled in, and those of extensions that were added."""

    programs: dict[str, Path]
    opcache: Path | None
    added: tuple[Path, ...] = ()


class _Rules(Struct, frozen=True):
    """What a Makefile knows: objects, those that modules are linked of, and whether opcache is a module."""

    objects: frozenset[str]
    of_modules: frozenset[str]
    shared: bool

    @classmethod
    def read(cls, makefile: Path) -> "_Rules":
        text = makefile.read_text(errors="replace")
        of_modules = frozenset(name for line in _OF_MODULES.findall(text) for name in line.split())
        return cls(frozenset(_OBJECT.findall(text)), of_modules, "opcache.la" in text)


class Tree:
    """One tree at `place`, with its logs in the supervisor's directory."""

    def __init__(self, place: Path, supervisor: Supervisor, tell: Tell) -> None:
        self.place = place
        self._supervisor = supervisor
        self._tell = tell

    def configure(self, options: Sequence[str], *, anew: bool = False) -> None:
        """With plain -O2 and no debugging information; `anew`: configure itself is made once more, for a source whose macros are patched.
        Raises DynoError with what is missing."""
        if anew or not (self.place / "configure").is_file():
            self._run("buildconf", ["./buildconf", "--force"], "making configure")
        settings = [word for word in options if "=" in word and not word.startswith("-")]
        env = {**PLAIN, **dict(word.split("=", 1) for word in settings)}
        argv = ["./configure", "--quiet", *(word for word in options if word not in settings)]
        self._run("configure", argv, "configuring", env=env)

    def help(self) -> str:
        """What configure says of its options. Raises DynoError."""
        return self._run("configure-help", ["./configure", "--help"], "configuring").said()

    def add(self, name: str, source: Path) -> None:
        """Copy an extension's source into the configured tree and configure it there, so that it is compiled as all the rest.

        Raises DynoError with what is missing.
        """
        home = self.place / ADDED / name
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(source, home, symlinks=True, ignore=shutil.ignore_patterns(".git"), copy_function=copy_without_rights)
        forget_compiling(home)
        config = phpize(self.place, home)
        for tool in ("autoconf", "autoheader"):
            self._run("phpize", [tool], f"making configure of {name}", cwd=home)
        self._run("configure", ["./configure", "--quiet", f"--with-php-config={config}"], f"configuring {name}", env=PLAIN, cwd=home)

    def compile(self, flags: Flags, what: str, *, trainable: bool = False) -> Built:
        """All programs and opcache, from nothing but profiles that lie beside the sources; `trainable`: they obey the signals of
        profile_signals.c. Raises DynoError, for a profile that the compiler did not find as well."""
        self.clean()
        given = written(self.place)
        # Each keeps its counters to itself: a module that found the program's functions first would write those of the program twice.
        signals = [str(self._signals()), "-Wl,--exclude-libs,libgcov.a"] if trainable else []
        link = (*flags.link, *signals)
        rules = _Rules.read(self.place / "Makefile")
        share = self._share(len(rules.objects))
        linking = [f"EXTRA_LDFLAGS={' '.join(link)}", f"EXTRA_LDFLAGS_PROGRAM={' '.join((*link, *flags.program))}"]
        said = [self._make(targets, [*words, *linking], what, share) for targets, words in self._steps(flags, rules)]
        for home in self._added():
            extra = flag_words((home / "Makefile").read_text(errors="replace"), flags.compile, link)
            said.append(self._make(["build-modules"], extra, what, share, cwd=home))
            refuse_without(flags.compile, said[-1], where=home.name)
        refuse_unread(given, "\n".join(said), self.place)
        return self._built(shared=rules.shared)

    def _steps(self, flags: Flags, rules: "_Rules") -> Iterator[tuple[list[str], list[str]]]:
        """What make makes, and with which words: what is compiled otherwise first, so that it is there already."""
        apart = VM_FILES if flags.vm_file != flags.compile else ()
        for kind, objects, targets in (
            ("programs", rules.objects - rules.of_modules, [*PROGRAMS.values()]),
            ("modules", rules.of_modules, ["build-modules"] if rules.shared else []),
        ):
            libtool = self._libtool(kind)
            # A PHP without the JIT has fewer.
            for wanted, by in (([name for name in apart if name in objects], flags.vm_file), (targets, flags.compile)):
                if wanted:
                    yield wanted, [libtool, f"PROF_FLAGS={' '.join(by)}"]

    def _share(self, objects: int) -> Callable[[], float]:
        """What tells which share of so many objects is compiled."""
        made, looked = 0, 0.0

        def share() -> float:
            nonlocal made, looked
            # A tree has twenty thousand files: looking is work that compiling waits for.
            if time.monotonic() - looked > LOOK_S:
                made, looked = max(made, self.objects()), time.monotonic()
            return min(1.0, made / max(1, objects))

        return share

    def objects(self) -> int:
        """How many were compiled."""
        return sum(1 for _ in self.place.rglob("*.lo"))

    def macros(self) -> str:
        """Macros of the interpreter's header, as the compiler sees them. Raises DynoError."""
        argv = ["gcc", "-E", "-dM", "-I.", "-IZend", "-Imain", "-include", "main/php_config.h", "Zend/zend_vm_opcodes.h"]
        return self._run("macros", argv, "looking at the interpreter").said()

    def clean(self) -> None:
        """Remove what was compiled; profiles stay, beside the sources and beside what modules are linked of."""
        for path in list(self.place.rglob("*")):
            if path.suffix in COMPILED or (path.parent.name == OF_LIBTOOL and not path.match(PROFILE)):
                remove(path)
        for path in (*(self.place / name for name in (*PROGRAMS.values(), OPCACHE)), *map(_module_of, self._added())):
            path.unlink(missing_ok=True)

    def _libtool(self, kind: str) -> str:
        """How make is told of a libtool that compiles each file once, for programs or for modules."""
        text = (self.place / "libtool").read_text(errors="replace")
        made = self.place / f"libtool-{kind}"
        made.write_text(re.sub(rf"^{NEVER[kind]}=yes$", f"{NEVER[kind]}=no", text, flags=re.MULTILINE))
        return f"LIBTOOL=$(SHELL) $(top_builddir)/{made.name} --preserve-dup-deps"

    def _added(self) -> list[Path]:
        """Directories of the extensions that were added."""
        return sorted((self.place / ADDED).glob("*"))

    def _signals(self) -> Path:
        """The object that obeys the signals, compiled without any profile."""
        made = self.place / "profile_signals.o"
        self._run("signals", ["gcc", "-O2", "-fPIC", "-c", str(SIGNALS), "-o", str(made)], "compiling")
        return made

    def _built(self, *, shared: bool) -> Built:
        programs = {name: self.place / path for name, path in PROGRAMS.items()}
        opcache = self.place / OPCACHE if shared else None
        added = tuple(map(_module_of, self._added()))
        missing = [str(path) for path in (*programs.values(), opcache, *added) if path is not None and not path.is_file()]
        if missing:
            raise DynoError(f"compiling ended without an error, and without {', '.join(missing)}", where=str(self.place))
        return Built(programs, opcache, added)

    def _make(self, targets: Sequence[str], words: Sequence[str], what: str, share: Callable[[], float], *, cwd: Path | None = None) -> str:
        """What make said. Raises DynoError."""
        jobs = len(os.sched_getaffinity(0))
        return self._run("make", ["make", f"-j{jobs}", *words, *targets], what, share, cwd=cwd).said()

    def _temporary(self) -> Path:
        """Where compilers put what lies between their steps: of one that is killed nothing is left in /tmp."""
        place = self._supervisor.live / "compiling"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place

    def _run(
        self,
        name: str,
        argv: Sequence[str],
        what: str,
        share: Callable[[], float] | None = None,
        *,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Child:
        """A long command, in the tree or in `cwd`; its output goes to logs/build-NAME.log. Raises DynoError with its last error."""
        # Nothing of the user's own flags may get into a build that others are compared with; a cache of objects knows no profiles.
        env = {"CCACHE_DISABLE": "1", "TMPDIR": str(self._temporary()), **(env or {})}
        child = self._supervisor.spawn(f"build-{name}", argv, env=env, cwd=cwd or self.place, as_service=False)
        began = time.monotonic()
        while not child.wait(POLL_S):
            self._tell(what, share() if share else 0.0)
            if time.monotonic() - began > MOST_S:
                child.stop()
                raise DynoError(f"{what} did not end within an hour", where=str(child.log))
        if child.status != 0:
            raise DynoError(f"{what} failed: {_first_error(child)}", where=name, next_step=f"see {child.log}")
        self._tell(what, 1.0)
        return child


def _module_of(extension: Path) -> Path:
    return extension / "modules" / f"{extension.name}.so"


def _first_error(child: Child) -> str:
    """The line that says what is wrong: with several jobs the last lines are others'."""
    found = next((line.strip() for line in child.said().splitlines() if _ERROR.search(line)), "")
    return found or child.tail(2)
