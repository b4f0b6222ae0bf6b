"""A configured source tree, and compiling in it. Objects remember where they were compiled, so a
tree never moves."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.files.copies import copy_without, make_readable
from phpdyno.errors import DynoError
from phpdyno.php_build.compile.flags import VM_FILES, Flags
from phpdyno.php_build.compile.leftovers import PROFILE, forget_compiling, remove_compiled
from phpdyno.php_build.compile.tree_commands import Tell, TreeCommands
from phpdyno.php_build.source.phpize import flag_words, phpize, refuse_without
from phpdyno.php_build.train.profiles import refuse_unread, written
from phpdyno.servers.supervision.supervisor import Supervisor

PROGRAMS = {"php-fpm": "sapi/fpm/php-fpm", "php-cgi": "sapi/cgi/php-cgi", "php": "sapi/cli/php"}
MODULE = "opcache.so"
OPCACHE = f"modules/{MODULE}"
OPCACHE_HOME = "ext/opcache"
ADDED = "added"
"""The directory of a tree in which extensions lie that are not PHP's own."""
PLAIN = {"CFLAGS": "-O2", "CXXFLAGS": "-O2", "LDFLAGS": ""}
SIGNALS = Path(__file__).with_name("profile_signals.c")
NOT_COPIED = (".git",)
LOOK_S = 5.0
NEVER = {"programs": "build_libtool_libs", "modules": "build_old_libs"}
"""What libtool is kept from, by what is made: left to itself it compiles each file for programs and
for modules, and one is never used."""
_OBJECT = re.compile(r"^(\S+\.lo):", re.MULTILINE)
_OF_MODULES = re.compile(r"^shared_objects_\w+ = (.*)$", re.MULTILINE)


class Built(Struct, frozen=True):
    """What compiling yields: programs by name, opcache's module, None where it is compiled in, and
    those of extensions that were added."""

    programs: dict[str, Path]
    opcache: Path | None
    added: tuple[Path, ...] = ()


class _Rules(Struct, frozen=True):
    """What a Makefile knows: objects, those that modules are linked of, and whether opcache is a
    module."""

    objects: frozenset[str]
    of_modules: frozenset[str]
    shared: bool

    @classmethod
    def of(cls, text: str) -> "_Rules":
        of_modules = frozenset(name for line in _OF_MODULES.findall(text) for name in line.split())
        return cls(frozenset(_OBJECT.findall(text)), of_modules, "opcache.la" in text)


class SourceTree:
    """One tree at `place`, which belongs to the servers' account, with its logs in the supervisor's
    directory."""

    def __init__(self, place: Path, supervisor: Supervisor, tell: Tell) -> None:
        self.place = place
        self._supervisor = supervisor
        self._commands = TreeCommands(place, supervisor, tell)

    def forget_compiling(self) -> None:
        """Remove what an earlier configure and make left in the source that it is a copy of. Raises
        DynoError."""
        forget_compiling(self._commands)

    def configure(self, options: Sequence[str], *, anew: bool = False) -> None:
        """Configure with plain -O2 and no debugging information; `anew`: configure itself is
        made once more, for a source whose macros are patched. Raises DynoError with what is
        missing."""
        if anew or not (self.place / "configure").is_file():
            self._commands.run("buildconf", ["./buildconf", "--force"], "making configure")
        settings = [word for word in options if "=" in word and not word.startswith("-")]
        env = {**PLAIN, **dict(word.split("=", 1) for word in settings)}
        argv = ["./configure", "--quiet", *(word for word in options if word not in settings)]
        self._commands.run("configure", argv, "configuring", env=env)

    def help(self) -> str:
        """What configure says of its options. Raises DynoError."""
        return self._commands.run("configure-help", ["./configure", "--help"], "configuring").said()

    def add(self, name: str, source: Path) -> None:
        """Copy an extension's source into the configured tree and configure it there, so that it is
        compiled as all the rest.

        Raises DynoError with what is missing.
        """
        home = self.place / ADDED / name
        self._commands.remove(str(home))
        self._commands.do(["mkdir", "-p", "--", str(home)])
        copied = self._supervisor.live / ADDED
        copied.mkdir(mode=0o700)
        try:
            copy_without(self._supervisor, source, copied, NOT_COPIED)
            make_readable(copied)
            self._commands.copy_in(copied, cwd=home)
        finally:
            shutil.rmtree(copied)
        forget_compiling(self._commands, f"{ADDED}/{name}")
        config = phpize(self._commands, home)
        for tool in ("autoconf", "autoheader"):
            self._commands.run("phpize", [tool], f"making configure of {name}", cwd=home)
        argv = ["./configure", "--quiet", f"--with-php-config={config}"]
        self._commands.run("configure", argv, f"configuring {name}", env=PLAIN, cwd=home)

    def compile(self, flags: Flags, what: str, *, trainable: bool = False) -> Built:
        """All programs and opcache, from nothing but profiles that lie beside the sources;
        `trainable`: they obey the signals of profile_signals.c. Raises DynoError, for a profile
        that the compiler did not find as well."""
        self.clean()
        given = written(self.place)
        # Each keeps its counters to itself: a module that found the program's functions first would
        # write those of the program twice.
        signals = [str(self._signals()), "-Wl,--exclude-libs,libgcov.a"] if trainable else []
        link = (*flags.link, *signals)
        rules = _Rules.of(self._commands.text("Makefile"))
        share = self._share(len(rules.objects))
        linking = [f"EXTRA_LDFLAGS={' '.join(link)}", f"EXTRA_LDFLAGS_PROGRAM={' '.join((*link, *flags.program))}"]
        said = [self._make(targets, [*words, *linking], what, share) for targets, words in self._steps(flags, rules)]
        for home in self._added():
            extra = flag_words(self._commands.text(f"{ADDED}/{home.name}/Makefile"), flags.compile, link)
            said.append(self._make(["build-modules"], extra, what, share, cwd=home))
            refuse_without(flags.compile, said[-1], where=home.name)
        refuse_unread(given, "\n".join(said), self.place)
        return self._built(shared=rules.shared)

    def _steps(self, flags: Flags, rules: "_Rules") -> Iterator[tuple[list[str], list[str]]]:
        """What make makes, and with which words: what is compiled otherwise first, so that it is
        there already."""
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
        return self._commands.run("macros", argv, "looking at the interpreter").said()

    def clean(self) -> None:
        """Remove what was compiled; profiles stay, beside the sources and beside what modules are
        linked of. Raises DynoError."""
        remove_compiled(self._commands)
        self._commands.remove(*PROGRAMS.values(), OPCACHE, *(str(_module_of(home)) for home in self._added()))

    def teach(self, profile: Path | None) -> None:
        """Have the profiles of a directory beside the sources, and no others: those of another
        training would be merged in silence.

        Raises DynoError.
        """
        self._commands.do(["find", ".", "-name", PROFILE, "-delete"])
        if profile is not None:
            self._commands.copy_in(profile)

    def _libtool(self, kind: str) -> str:
        """How make is told of a libtool that compiles each file once, for programs or for
        modules."""
        made = f"libtool-{kind}"
        text = re.sub(rf"^{NEVER[kind]}=yes$", f"{NEVER[kind]}=no", self._commands.text("libtool"), flags=re.MULTILINE)
        self._commands.put({made: text})
        return f"LIBTOOL=$(SHELL) $(top_builddir)/{made} --preserve-dup-deps"

    def _added(self) -> list[Path]:
        """Directories of the extensions that were added."""
        return sorted((self.place / ADDED).glob("*"))

    def _signals(self) -> Path:
        """The object that obeys the signals, compiled without any profile."""
        made = self.place / "profile_signals.o"
        self._commands.put({SIGNALS.name: SIGNALS.read_text()})
        self._commands.run("signals", ["gcc", "-O2", "-fPIC", "-c", SIGNALS.name, "-o", str(made)], "compiling")
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
        return self._commands.run("make", ["make", f"-j{jobs}", *words, *targets], what, share, cwd=cwd).said()


def _module_of(extension: Path) -> Path:
    return extension / "modules" / f"{extension.name}.so"
