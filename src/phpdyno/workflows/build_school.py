"""Where builds are trained and examined: the app's real stack, beside the PHP that is there."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.build.dropin import EXTENSIONS, php_of
from phpdyno.build.training import Course, Trained, Trainer
from phpdyno.build.tree import MODULE, Tell
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.build import Check
from phpdyno.model.facts import WorkerFacts
from phpdyno.stack.bench import Bench
from phpdyno.stack.php import inspect_php, read_build_id
from phpdyno.stack.supervise import Supervisor


class StackSchool:
    """A school on one stage, with the control's answers as the right ones."""

    def __init__(self, supervisor: Supervisor, bench: Bench, control: Arm, course: Course, tell: Tell) -> None:
        self._supervisor = supervisor
        self._bench = bench
        self._control = control
        self._course = course
        self._tell = tell
        self._trainer = Trainer(bench, control, bench.app.workload)

    def train(self, build: Path, *, environment: dict[str, str], by_signals: bool) -> Trained:
        """Train the drop-in in a directory. Raises WrongAnswer, ArmFailed."""
        # Not asked what it is: each start of a binary that counts leaves a profile.
        php = structs.replace(self._control.php, **php_of(build), build_id="")
        changed = {f"env.{name}": value for name, value in environment.items()}
        arm = Arm("training", php, {**self._control.settings, **changed}, changed)
        return self._trainer.train(arm, self._course, self._tell, by_signals=by_signals)

    def examine(self, build: Path) -> Sequence[Check]:
        """Start it beside the control: what it loads, which opcache is mapped, what it answers. Raises ArmFailed when it does not start."""
        self._tell("examining", 0.0)
        place = php_of(build)
        php = inspect_php(place["fpm"], place["extension_dir"])
        arm = Arm("build", php, self._control.settings)
        facts, control = self._trainer.look_at(arm)
        return checks_of(build, php, facts, control)

    def writable(self, name: str) -> Path:
        """An empty directory of the workers' account."""
        shutil.rmtree(self._supervisor.live / name, ignore_errors=True)
        return self._supervisor.directory(name, private=False)


def checks_of(build: Path, php: PhpBuild, facts: WorkerFacts, control: WorkerFacts) -> tuple[Check, ...]:
    """What a worker of a build shows beside one of the control."""
    missing = sorted(set(control.extensions) - set(facts.extensions))
    more = sorted(set(facts.extensions) - set(control.extensions))
    if missing:
        loaded = f"without {', '.join(missing)}"
    elif more:
        loaded = f"with {', '.join(more)} besides"
    else:
        loaded = f"all {len(facts.extensions)} of them"
    program, own = php_of(build)["fpm"], str(build / EXTENSIONS / MODULE)
    static = not Path(own).is_file()
    return (
        Check("extensions", ok=not missing and not more, seen=loaded),
        Check(
            "program",
            ok=facts.exe == program,
            seen=f"the worker runs {facts.exe}, build id {read_build_id(Path(facts.exe))[:12]}",
        ),
        Check("opcache", ok=static or facts.opcache_so == own, seen=f"{facts.opcache_so or 'compiled in'} is mapped"),
        Check("version", ok=facts.php_version == php.version, seen=f"PHP {facts.php_version}"),
    )
