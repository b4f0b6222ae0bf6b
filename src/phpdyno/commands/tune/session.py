"""What one session of a tune stands on: the app prepared, its shared servers started, the host
looked at, arms that can be made."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.source import App
from phpdyno.commands.tune.measurer import Bases, Maker, TunedApp, TuneMeasurer
from phpdyno.commands.tune.parts import Parts
from phpdyno.config.nearest import suggestion
from phpdyno.drive.descriptors import require_descriptors
from phpdyno.errors import UsageError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.cores import on_cores
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.journal.records import Preflight
from phpdyno.knobs.catalogue import CATALOGUE
from phpdyno.knobs.judge import check_values
from phpdyno.model.arm import Arm
from phpdyno.model.plan import MAX_STEAL
from phpdyno.model.runs.tune import TuneRequest
from phpdyno.paths import cache_dir
from phpdyno.server_files.apache import is_apache
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.arms import CONTROL, LOADED_CONTROL
from phpdyno.session.environment import open_environment, tell_first
from phpdyno.session.requirements import check_nginx, refuse_without_nginx, require_servers
from phpdyno.session.source import open_source, prepare_commits, workload_for
from phpdyno.session.specs import CONTROL_OPTION, SpecReader


class TuneSubject(Struct, frozen=True):
    """What is tuned, with what its arms are made."""

    asked: TuneRequest
    definition: App
    maker: Maker

    @property
    def controls(self) -> tuple[Arm, Arm]:
        """The control with one request in flight, and under load."""
        reader, bases = self.maker.reader, self.maker.bases
        return reader.arm(CONTROL, bases.cpu, {}), reader.arm(LOADED_CONTROL, bases.loaded, {})


def subject_of(asked: TuneRequest) -> TuneSubject:
    """Raises UsageError for what cannot be, DynoError where a server is missing: all that can be
    said before anything starts."""
    check_knobs(asked.knobs)
    check_nginx(asked.transport, asked.loaded_concurrency)
    definition = open_source(asked.source)
    reader = SpecReader(definition)
    given = reader.read(asked.control, CONTROL_OPTION, {})
    loaded = str(asked.loaded_concurrency)
    bases = Bases(reader.for_cpu(given, 1), {"pool.pm.max_children": loaded, **given})
    subject = TuneSubject(asked, definition, Maker(reader, bases))
    # First: nobody is to install an Apache for what is refused anyway.
    if any(is_apache(arm) for arm in subject.controls):
        raise UsageError("php-fpm is what is tuned; compare and measure take Apache", where=CONTROL_OPTION)
    require_servers(asked.transport, subject.controls)
    refuse_without_nginx(definition, asked.transport, subject.controls)
    require_descriptors(2 * asked.loaded_concurrency)
    return subject


def check_knobs(asked: Sequence[str]) -> None:
    """Raise UsageError for a knob that the catalogue does not have, or a value that it does not
    take."""
    for each in asked:
        name, given, value = each.partition("=")
        if name not in CATALOGUE:
            hint = suggestion(name, sorted(CATALOGUE)) or "see docs/reference/knobs.md"
            raise UsageError(f"there is no knob {name!r} to be tuned", where="--knob", next_step=hint)
        if given:
            check_values({name: value}, where=f"--knob {each}")
            if CATALOGUE[name].files and not Path(value).is_file():
                raise UsageError("there is no such file", where=f"--knob {each}")


@contextmanager
def laboratory(
    subject: TuneSubject, run: Path, *, argv: Sequence[str], progress: Progress, before_s: float = 0.0, memory_kib: int = 0
) -> Iterator[tuple[TuneMeasurer, Preflight]]:
    """Everything started that the arms share, for as long as the session lasts; `before_s` of the
    budget was used up by earlier ones, and `memory_kib` is what was free when the first began (0:
    now).

    The budget begins once the app is prepared. Raises DynoError.
    """
    asked, definition = subject.asked, subject.definition
    with Supervisor(run / "logs") as supervisor, ExitStack() as stack:
        app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
        app = prepare_commits(definition, app, subject.controls, supervisor, progress.phase).get(CONTROL, app)
        clock = BudgetClock(before_s, budget_s=asked.budget_s)
        progress.phase("starting")
        environment = open_environment(
            stack,
            app,
            supervisor,
            arms=subject.controls,
            transport=asked.transport,
            workers=asked.loaded_concurrency,
            max_steal=MAX_STEAL,
        )
        tell_first(environment.preflight.warnings, progress)
        described = TunedApp(app.name, app.version, workload_for(asked.workload, app.workload), app.original)
        parts = Parts(run, environment, AnswerCheck(described.workload), argv=argv, clock=clock, progress=progress)
        memory_kib = memory_kib or SmallFiles().kib("/proc/meminfo", "MemAvailable") or 0
        with on_cores(environment.stage.cores.helpers):
            yield TuneMeasurer(asked, described, subject.maker, parts, clock, memory_kib=memory_kib), environment.preflight
