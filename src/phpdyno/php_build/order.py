"""An order: what to build, and the keys under which each of its steps is kept. Pure."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field, structs

from phpdyno.model.build import Origin, Teaching
from phpdyno.model.recipe import Phase, Recipe
from phpdyno.php_build.compile.dropin import settings_of
from phpdyno.php_build.compile.flags import Flags, flags_of
from phpdyno.php_build.compile.standalone import THREADS
from phpdyno.php_build.source.added_extensions import Added
from phpdyno.php_build.train.bolt import LAYOUT
from phpdyno.php_build.workshop import digest_of

Key = dict[str, object]
METHOD = 5
"""Of compiling and linking, beyond what flags say: one more whenever `tree.py` does it otherwise,
so that nothing older is gone on with."""
COUNTING = 4
"""Of training for BOLT, likewise: one more whenever `layout.py` has programs count otherwise."""
EXAMINING = 3
"""Of looking at a build, likewise: one more whenever its record tells more of what was seen."""
EXAMINED = ("app", "version", "reference", "targets", "traffic", "requests")
"""Of a teaching, what a build is examined with, and what its record says of that, whether or not it
was trained."""


class Expected(Struct, frozen=True):
    """What a build must show beside its control. `compiled_in` are the extensions of one that
    stands alone, None for a drop-in. `threads`: it is thread-safe. `as_packaged`: it is of the
    control's own packaged source, patches included, and configured as the control is."""

    compiled_in: tuple[str, ...] | None = None
    threads: bool = False
    as_packaged: bool = False


class BuildSource(Struct, frozen=True):
    """A source of PHP `version`, how it is configured, and the PHP that a build of it stands
    beside: its php-fpm is `like`, an arm's settings `stock`, and of a drop-in its version `beside`.

    `source` is an unpacked tree that stays as it is. `theirs` is that PHP's directory of
    extensions, `modules` the files in it that a drop-in links; None for a build that stands alone,
    which reads the php.ini `ini`, has `extensions` compiled in and `added` ones compiled with it.
    `package` is the distribution's of `like`, as a build records it.
    """

    origin: Origin
    source: Path
    version: str
    options: tuple[str, ...]
    like: str
    stock: dict[str, str]
    theirs: Path | None
    modules: tuple[str, ...] = ()
    beside: str = ""
    ini: str = ""
    extensions: tuple[str, ...] = ()
    added: tuple[Added, ...] = ()
    measuring_only: bool = False
    package: str = ""
    package_version: str = ""

    @property
    def alone(self) -> bool:
        """Whether extensions are compiled in."""
        return self.theirs is None

    @property
    def expected(self) -> Expected:
        """What a build of it must show."""
        return Expected(
            compiled_in=self.extensions if self.alone else None,
            threads=THREADS in self.options,
            as_packaged=self.origin.kind == "debian" and not self.alone,
        )

    def settings(self, place: Path) -> dict[str, str]:
        """How an arm runs what was put together in a directory."""
        return settings_of(place, alone=self.alone, ini=self.ini)


class BuildOrder(Struct, frozen=True):
    """What to build on a source, with these versions of the compiler and of BOLT. `teachings`: one
    for each app that it is trained on, in the user's order; it is examined on the stacks of all of
    them. `left_out`: steps of the recipe that did not come off, with the reason. `machine`: what
    march=native stands for here, '' where the recipe does not say it."""

    recipe: Recipe
    build_source: BuildSource
    compiler: str
    teachings: tuple[Teaching, ...]
    bolt: str = ""
    machine: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    def without(self, steps: Mapping[str, str]) -> "BuildOrder":
        """This order, compiled as it is, without these steps afterwards; the reasons do not make it
        another one."""
        return structs.replace(self, left_out=steps)

    @property
    def lays_out(self) -> bool:
        """Whether BOLT comes after the compiler."""
        return self.recipe.bolt and "bolt" not in self.left_out

    def flags(self, phase: Phase) -> Flags:
        """What is compiled with: what is trained is neither optimised at link time nor laid out,
        whatever the recipe says."""
        recipe = structs.replace(self.recipe, lto=False, bolt=False, pgo=True) if phase == "generate" else self.recipe
        return flags_of(recipe, phase)

    @property
    def tree(self) -> Key:
        """The key of the configured sources."""
        added = {"added": [(each.name, each.digest) for each in self.build_source.added]} if self.build_source.added else {}
        return {
            "method": METHOD,
            "source": self.build_source.origin.digest,
            "options": self.build_source.options,
            "compiler": self.compiler,
            **added,
        }

    @property
    def _machine(self) -> Key:
        """The same march=native is another recipe on another machine."""
        return {"machine": self.machine} if self.machine else {}

    @property
    def trainee(self) -> Key:
        """The key of the binaries that are trained: BOLT and link-time optimisation come later."""
        return {**self.tree, **self._machine, "flags": structs.asdict(self.flags("generate"))}

    def profile(self, teaching: Teaching) -> Key:
        """The key of the profile that one app's training leaves; what it weighs beside others does
        not matter to it."""
        return {**self.trainee, "lesson": _key_of(structs.replace(teaching, weight=1.0))}

    @property
    def profiles(self) -> Key:
        """The key of the profile of all apps."""
        return {**self.trainee, "lessons": [_key_of(each) for each in self.teachings]}

    @property
    def compiled(self) -> Key:
        """The key of the binaries before BOLT."""
        flags = structs.asdict(self.flags("use" if self.recipe.pgo else "plain"))
        profile = self.profiles if self.recipe.pgo else {}
        return {**self.tree, **self._machine, "recipe": self.recipe.name, "flags": flags, "profile": profile}

    @property
    def finished(self) -> Key:
        """The key of the build."""
        lessons = self.profiles if self.recipe.trained else {}
        build_source = self.build_source
        place = {
            "like": build_source.like,
            "beside": build_source.beside,
            "alone": build_source.alone,
            "ini": build_source.ini,
            "measuring only": build_source.measuring_only,
        }
        layout = {"layout": (self.bolt, COUNTING, *LAYOUT)} if self.recipe.bolt else {}
        modules = {"modules": build_source.modules} if build_source.modules else {}
        package = {"package": (build_source.package, build_source.package_version)} if build_source.package else {}
        left_out = {"left out": tuple(self.left_out)} if self.left_out else {}
        examined = [{name: getattr(each, name) for name in EXAMINED} for each in self.teachings]
        return {
            **self.compiled,
            "lessons": lessons,
            "examining": EXAMINING,
            "examined": examined,
            **place,
            **modules,
            **layout,
            **package,
            **left_out,
        }

    @property
    def name(self) -> str:
        """`pgo+bolt-1a2b3c4d`, `pgo+bolt-5e6f7a8b-without-bolt`."""
        return "-without-".join((f"{self.recipe.name}-{digest_of(self.finished)[:8]}", *self.left_out))


def _key_of(teaching: Teaching) -> Key:
    """All that a training depends on: its targets are named, so the file that they are from does
    not matter."""
    return {name: value for name, value in structs.asdict(teaching).items() if name != "requests"}
