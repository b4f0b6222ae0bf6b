"""Where builds are trained and examined: the app's real stack, beside the PHP that is there."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.errors import DynoError
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.build import BESIDE_FPM, BuildCheck
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.workload import Workload
from phpdyno.php_build.compile.tree import MODULE
from phpdyno.php_build.compile.tree_commands import Tell
from phpdyno.php_build.order import Expected
from phpdyno.php_build.source.installed import modules_of
from phpdyno.php_build.train.beside import Beside
from phpdyno.php_build.train.stack import EXAMINED, TRAINED, StackFound
from phpdyno.php_build.train.training import NO_COURSE, Trained, Trainer, TrainingLength
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.placement import ini_options, loading
from phpdyno.servers.programs.php import Traits, ini_files, inspect_php, read_build_id, read_traits

OF_THE_SERVER = "cgi-fcgi"
"""What php-fpm and php-cgi call themselves among their extensions."""
OWN_PLACE = "extension_dir"
"""Every build has its own."""
PLACES = "places"
"""The check of what a package tells of the distribution."""
_SET = re.compile(r"^[ \t]*([\w.-]+)[ \t]*=[ \t]*[^\s;]", re.MULTILINE)
"""A line without a value leaves some settings as they are compiled in."""
_PATH = re.compile(r"(?:^|:)/(?!/)")
"""A path, or one of several; `tcp://` and `</font>` are none."""
SYSTEM = "system"
"""In the version of a time-zone database that is the system's, by Debian's patch."""


class AppTrainingStack:
    """A training stack on one stage, with the control's answers as the right ones."""

    def __init__(self, bench: Bench, workload: Workload, control: Arm, training_length: TrainingLength, tell: Tell) -> None:
        self._bench = bench
        self._control = control
        self._training_length = training_length
        self._tell = tell
        self._beside = Beside(bench, control, workload)
        self._trainer = Trainer(self._beside, workload)

    def train(self, settings: dict[str, str], *, environment: dict[str, str], by_signals: bool) -> Trained:
        """Train the build that these settings run. Raises WrongAnswer, ArmFailed."""
        return self._trainer.train(self._trainee(settings, environment), self._training_length, self._tell, by_signals=by_signals)

    def start(self, settings: dict[str, str]) -> None:
        """What such a training is without its traffic. Raises WrongAnswer,
        ArmFailed."""
        self._trainer.train(self._trainee(settings, {}), NO_COURSE, self._tell, by_signals=False)

    def _trainee(self, settings: dict[str, str], environment: dict[str, str]) -> Arm:
        # Not asked what it is: each start of a binary that counts leaves a profile.
        php = structs.replace(self._control.php, fpm=settings["php"], extension_dir=settings["php.extension_dir"], build_id="")
        changed = {**settings, **{f"env.{name}": value for name, value in environment.items()}}
        return Arm(TRAINED, php, {**self._control.settings, **changed}, changed)

    def examine(self, settings: dict[str, str], expected: Expected) -> StackFound:
        """Start it beside the control: what it is, loads, maps and answers. Raises WrongAnswer,
        ArmFailed."""
        self._tell("examining", 0.0)
        arm, traits = self._looked_at(settings)
        facts, control = self._beside.look_at(arm)
        options, scan_dir = ini_options(self._control.settings)
        php = self._control.php
        beside = read_traits(php.fpm, php.extension_dir, options=options, scan_dir=scan_dir)
        scanned = ini_files(php.fpm, options, scan_dir).scanned if expected.compiled_in is not None else ()
        places = places_of(traits, beside, set_in=[Path(path).read_text(errors="replace") for path in scanned])
        checks = (
            *checks_of(arm.php, facts, control, compiled_in=expected.compiled_in),
            *checks_of_traits(traits, beside, expected),
            check_of_places(places),
            check_of_programs(settings, facts.extensions),
        )
        return StackFound(checks, places)

    def _looked_at(self, settings: dict[str, str]) -> tuple[Arm, Traits]:
        """The arm that runs a build, which is asked what it is. Raises ArmFailed where it does not
        run at all."""
        options, scan_dir = ini_options(settings)
        fpm, extensions = settings["php"], settings["php.extension_dir"]
        arm = Arm(EXAMINED, PhpBuild(fpm, "", extensions), {**self._control.settings, **settings})
        try:
            php = inspect_php(fpm, extensions, options=options, scan_dir=scan_dir)
            traits = read_traits(fpm, extensions, options=options, scan_dir=scan_dir)
        except DynoError as error:
            raise ArmFailed(arm, f"{error.where}: {error.what}", next_step=error.next_step) from error
        return structs.replace(arm, php=php), traits

    def writable(self, name: str) -> Path:
        """An empty directory of the workers' account; it goes with the training stack."""
        shutil.rmtree(self._bench.supervisor.live / name, ignore_errors=True)
        return self._bench.supervisor.directory(name, private=False)


def checks_of(php: PhpBuild, facts: WorkerFacts, control: WorkerFacts, *, compiled_in: Sequence[str] | None) -> tuple[BuildCheck, ...]:
    """What a worker of a build shows beside one of the control: a drop-in loads all that that one
    does, a build that stands alone has what was `compiled_in`."""
    loaded = set(facts.extensions)
    if compiled_in is None:
        missing, more = sorted(set(control.extensions) - loaded), sorted(loaded - set(control.extensions))
    else:
        missing, more = sorted(set(compiled_in) - {name.lower() for name in loaded}), []
    said = f"all {len(loaded)} of them"
    if missing or more:
        said = f"without {', '.join(missing)}" if missing else f"with {', '.join(more)} besides"
    own = f"{php.extension_dir}/{MODULE}"
    as_module = Path(own).is_file()
    # A drop-in reads the control's ini files, and these may not load it.
    unloaded = as_module and compiled_in is None and not control.opcache_so
    mapped = facts.opcache_so or ("none, as in the control," if unloaded else "none" if as_module else "compiled in")
    return (
        BuildCheck("extensions", ok=not missing and not more, seen=said),
        BuildCheck("program", ok=facts.exe == php.fpm, seen=f"the worker runs {facts.exe}, build id {read_build_id(Path(facts.exe))[:12]}"),
        BuildCheck("opcache", ok=facts.opcache_so == (own if as_module and not unloaded else ""), seen=f"{mapped} is mapped"),
        BuildCheck("version", ok=facts.php_version == php.version, seen=f"PHP {facts.php_version}"),
    )


def checks_of_traits(php: Traits, control: Traits, expected: Expected) -> tuple[BuildCheck, ...]:
    """What a build says that it is, beside what the control says."""
    same = (SYSTEM in php.timezones) == (SYSTEM in control.timezones)
    beside = "" if same else f"; {_database(control)} in the control"
    return (
        BuildCheck("threads", ok=php.threads == expected.threads, seen="thread-safe" if php.threads else "not thread-safe"),
        BuildCheck("time zones", ok=same or not expected.as_packaged, seen=f"{_database(php)}{beside}"),
    )


def places_of(php: Traits, control: Traits, *, set_in: Sequence[str] = ()) -> dict[str, str]:
    """Settings for which the control has a place of the distribution's compiled in (where sessions
    are kept, the database's socket) and a build that reads the same files has not, with the
    control's values. `set_in` are files that only the control has read here."""
    told = {name for text in set_in for name in _SET.findall(text)}
    return {
        name: value
        for name, value in control.values.items()
        if _PATH.search(value) and php.values.get(name, value) != value and name not in told and name != OWN_PLACE
    }


def check_of_places(places: Mapping[str, str]) -> BuildCheck:
    """What a build's package tells it, since its source does not."""
    said = ", ".join(f"{name} is {value}" for name, value in places.items())
    return BuildCheck(PLACES, ok=True, seen=f"compiled into the control alone, told by a package: {said}" if said else "as in the control")


def check_of_programs(settings: Mapping[str, str], loaded: Sequence[str]) -> BuildCheck:
    """Whether the programs beside a php-fpm, which nothing starts here, load what that has
    `loaded`."""
    options, scan_dir = ini_options(settings)
    asked = (*options, *loading(settings))
    said = []
    for name in BESIDE_FPM:
        program = str(Path(settings["php"]).with_name(name))
        try:
            has = modules_of(program, settings["php.extension_dir"], options=asked, scan_dir=scan_dir)
        except DynoError as error:
            said.append(str(error))
            continue
        if missing := sorted({*loaded} - {*has, OF_THE_SERVER}):
            said.append(f"{name} without {', '.join(missing)}")
    return BuildCheck("other programs", ok=not said, seen="; ".join(said) or f"{' and '.join(BESIDE_FPM)} load the same")


def _database(php: Traits) -> str:
    return "the system's database" if SYSTEM in php.timezones else f"a database of its own ({php.timezones or 'of no version'})"
