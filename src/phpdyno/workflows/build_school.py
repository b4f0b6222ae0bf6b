"""Where builds are trained and examined: the app's real stack, beside the PHP that is there."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.build.training import Course, Trained, Trainer
from phpdyno.build.tree import MODULE, Tell
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.build import Check
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.workload import Workload
from phpdyno.stack.bench import Bench
from phpdyno.stack.php import inspect_php, read_build_id
from phpdyno.stack.placement import ini_options


class StackSchool:
    """A school on one stage, with the control's answers as the right ones."""

    def __init__(self, bench: Bench, workload: Workload, control: Arm, course: Course, tell: Tell) -> None:
        self._bench = bench
        self._control = control
        self._course = course
        self._tell = tell
        self._trainer = Trainer(bench, control, workload)

    def train(self, settings: dict[str, str], *, environment: dict[str, str], by_signals: bool) -> Trained:
        """Train the build that these settings run. Raises WrongAnswer, ArmFailed."""
        # Not asked what it is: each start of a binary that counts leaves a profile.
        php = structs.replace(self._control.php, fpm=settings["php"], extension_dir=settings["php.extension_dir"], build_id="")
        changed = {**settings, **{f"env.{name}": value for name, value in environment.items()}}
        arm = Arm("training", php, {**self._control.settings, **changed}, changed)
        return self._trainer.train(arm, self._course, self._tell, by_signals=by_signals)

    def examine(self, settings: dict[str, str], *, compiled_in: Sequence[str] | None) -> Sequence[Check]:
        """Start it beside the control: what it loads, which opcache is mapped, what it answers. Raises ArmFailed when it does not start."""
        self._tell("examining", 0.0)
        options, scan_dir = ini_options(settings)
        php = inspect_php(settings["php"], settings["php.extension_dir"], options=options, scan_dir=scan_dir)
        arm = Arm("build", php, {**self._control.settings, **settings})
        facts, control = self._trainer.look_at(arm)
        return checks_of(php, facts, control, compiled_in=compiled_in)

    def writable(self, name: str) -> Path:
        """An empty directory of the workers' account; it goes with the school."""
        shutil.rmtree(self._bench.supervisor.live / name, ignore_errors=True)
        return self._bench.supervisor.directory(name, private=False)


def checks_of(php: PhpBuild, facts: WorkerFacts, control: WorkerFacts, *, compiled_in: Sequence[str] | None) -> tuple[Check, ...]:
    """What a worker of a build shows beside one of the control: a drop-in loads all that that one does, a build that stands alone has
    what was `compiled_in`."""
    loaded = set(facts.extensions)
    if compiled_in is None:
        missing, more = sorted(set(control.extensions) - loaded), sorted(loaded - set(control.extensions))
    else:
        missing, more = sorted(set(compiled_in) - {name.lower() for name in loaded}), []
    said = f"all {len(loaded)} of them"
    if missing or more:
        said = f"without {', '.join(missing)}" if missing else f"with {', '.join(more)} besides"
    own = f"{php.extension_dir}/{MODULE}"
    static = not Path(own).is_file()
    return (
        Check("extensions", ok=not missing and not more, seen=said),
        Check("program", ok=facts.exe == php.fpm, seen=f"the worker runs {facts.exe}, build id {read_build_id(Path(facts.exe))[:12]}"),
        Check("opcache", ok=static or facts.opcache_so == own, seen=f"{facts.opcache_so or 'compiled in'} is mapped"),
        Check("version", ok=facts.php_version == php.version, seen=f"PHP {facts.php_version}"),
    )
