"""phpdyno study: the comparisons, sweeps and syscall passes of a study file, one after the other,
each finished one kept."""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from phpdyno import __version__
from phpdyno.apps.registry import open_app
from phpdyno.commands.build.builder import LOGS
from phpdyno.commands.build.named import refuse_rebuilt, with_builds, without_builds
from phpdyno.commands.compare.run import CompareRequest, check_load, compare, resume
from phpdyno.commands.explain.syscall_pass import count_pass, pass_arm
from phpdyno.commands.measure.run import MeasureRequest, check_question, measure, pool_arms
from phpdyno.commands.measure.run import resume as resume_sweep
from phpdyno.commands.study.requests import enough, pass_requests, question_of, sweep_question
from phpdyno.config.nearest import suggestion
from phpdyno.config.study.file import load_study
from phpdyno.errors import BudgetTooSmall, DynoError, Interrupted, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.state import RunState
from phpdyno.explain.tracing.strace import CannotTrace
from phpdyno.host.lock import MeasuringLock, holding_on
from phpdyno.journal.reader import FILE, begun_in, read_journal
from phpdyno.journal.study import STUDY_SCHEMA, StudyPart, StudyRecord, read_study, write_study
from phpdyno.journal.sweep import SWEEP_FILE, read_sweep
from phpdyno.model.arm import PhpBuild
from phpdyno.model.runs.study import Study, SyscallCounts
from phpdyno.session.arms import make_arms
from phpdyno.session.peers import go_on_with, named_peers
from phpdyno.session.provenance import read_provenance, refuse_changed, refuse_other_version, version_of
from phpdyno.session.run_directory import check_place, make_run_dir
from phpdyno.session.specs import SpecReader


@holding_on()
def study(
    file: Path, *, budget_s: float | None, only: str, runs: Path, argv: Sequence[str], progress: Progress
) -> tuple[Path, StudyRecord]:
    """Carry out a study file; `budget_s` scales the budgets of the comparisons and sweeps that are
    asked for (`only`) to that sum.

    Gives its directory and record. Every name in it is looked up before anything starts. A part
    that fails is recorded and the rest go on. Raises UsageError.
    """
    runs = check_place(runs)
    asked = load_study(file)
    selected = _selected(asked, only)
    own_s = asked.budget_of(selected)
    scale = budget_s / own_s if budget_s and own_s else 1.0
    check_study(without_builds(asked), scale)
    wanted, made = with_builds(asked, logs=runs / LOGS, progress=progress)
    builds = check_study(wanted, scale)
    parts = (
        *(StudyPart(each.name, "comparison") for each in wanted.comparisons),
        *(StudyPart(each.name, "sweep") for each in wanted.sweeps),
        *(StudyPart(each.name, "syscalls") for each in wanted.passes),
    )
    provenance = read_provenance(builds)
    with MeasuringLock():
        run = make_run_dir(runs, "study", wanted.name)
    started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    record = StudyRecord(
        schema=STUDY_SCHEMA,
        phpdyno=__version__,
        started=started,
        argv=tuple(argv),
        study=wanted,
        scale=scale,
        parts=parts,
        file=_named(file),
        ground=provenance,
        builds=made,
        network=named_peers(),
    )
    write_study(run, record)
    return run, _go(run, record, selected, argv=argv, progress=progress)


@holding_on()
def resume_study(run: Path, *, only: str, argv: Sequence[str], progress: Progress) -> tuple[Path, StudyRecord]:
    """Go on with the parts that are not done; a finished study is only shown again.

    Raises UsageError, also where code, host or servers are not those of the finished parts;
    DynoError.
    """
    run = check_place(run)
    record = read_study(run)
    selected = _selected(record.study, only)
    go_on_with(record.network)
    if any(part.name in selected and part.state != "done" for part in record.parts):
        refuse_rebuilt(record.builds.values(), of="study")
        provenance = read_provenance(check_study(record.study, record.scale))
        refuse_changed(run, record, provenance)
        record = _go(run, structs.replace(record, ground=provenance), selected, argv=argv, progress=progress)
    return run, record


def _named(file: Path) -> str:
    """The study file without a path of this machine: relative to where we are, else only its
    name."""
    if not file.is_absolute():
        return str(file)
    here = Path.cwd()
    return str(file.relative_to(here)) if file.is_relative_to(here) else file.name


def _selected(wanted: Study, only: str) -> set[str]:
    """Names of the parts that `only` stands for: a part, all parts of an app, of a metric, the
    sweeps or the syscall passes; '' for all."""
    tags = {each.name: {each.name, each.app, each.metric} for each in wanted.comparisons}
    tags |= {each.name: {each.name, each.app, "sweep"} for each in wanted.sweeps}
    tags |= {each.name: {each.name, each.app, "syscalls"} for each in wanted.passes}
    found = {name for name, said in tags.items() if not only or only in said}
    if not found:
        known = sorted(set().union(*tags.values()))
        raise UsageError(
            f"this study has no part {only!r}", where="--only", next_step=suggestion(only, known) or "known: " + ", ".join(known)
        )
    return found


def check_study(wanted: Study, scale: float) -> tuple[PhpBuild, ...]:
    """Look up every app and every setting now: the third comparison should not fail over a typing
    error after ten minutes.

    Gives the PHP of every arm. Raises UsageError.
    """
    apps = {}
    builds = []
    for name, reference in wanted.apps.items():
        try:
            apps[name] = open_app(reference)
        except UsageError as error:
            raise UsageError(error.what, where=f"apps.{name}: {error.where}", next_step=error.next_step) from error
    for each in wanted.comparisons:
        question = question_of(wanted, each, scale)
        arms = make_arms(question.control, question.treatments, metric=question.metric, app=apps[each.app])
        check_load(question, arms)
        builds += [arm.php for arm in (arms.control, *arms.treatments)]
    for sweep in wanted.sweeps:
        asked = sweep_question(wanted, sweep, scale)
        check_question(asked)
        builds += [arm.php for arm in pool_arms((asked.control, *asked.others), SpecReader(apps[sweep.app]))]
    for pass_ in wanted.passes:
        for name in pass_.arms:
            builds.append(pass_arm(wanted, name, apps[pass_.app]).php)
    return tuple(builds)


class _Turn(Struct, frozen=True):
    """One part to do: the `number`th of `of`, begun when `before_s` of `total_s` seconds of budget
    are behind us."""

    part: StudyPart
    number: int
    of: int
    before_s: float
    total_s: float


class _PartProgress:
    """What a part tells, with its place in the study; time counts over all parts."""

    def __init__(self, inner: Progress, turn: _Turn) -> None:
        self._inner = inner
        self._turn = turn

    def phase(self, text: str) -> None:
        """A new phase of this part began."""
        turn = self._turn
        self._inner.phase(f"{turn.number} of {turn.of}, {turn.part.name}: {text}")

    def note(self, text: str) -> None:
        """Something to be read, with the part's name."""
        self._inner.note(f"{self._turn.part.name}: {text}")

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Time went by in this part."""
        self._inner.tick(self._turn.before_s + min(elapsed_s, budget_s), self._turn.total_s, text)


def _go(run: Path, record: StudyRecord, selected: set[str], *, argv: Sequence[str], progress: Progress) -> StudyRecord:
    todo = [part for part in record.parts if part.name in selected and part.state != "done"]
    budgets = {each.name: each.budget_s * record.scale for each in record.study.timed}
    total_s = sum(budgets.get(part.name, 0.0) for part in todo)
    before_s = 0.0
    try:
        for number, part in enumerate(todo, 1):
            turn = _Turn(part, number, len(todo), before_s, total_s)
            done, counts = _one(run, record, part, selected, argv=argv, progress=_PartProgress(progress, turn))
            if done.detail:
                progress.note(f"{part.name}: {done.detail}")
            record = record.with_part(done, counts)
            write_study(run, record)
            before_s += budgets.get(part.name, 0.0)
    except KeyboardInterrupt:
        raise Interrupted(str(run), "study") from None
    return record


def _one(
    run: Path, record: StudyRecord, part: StudyPart, selected: set[str], *, argv: Sequence[str], progress: Progress
) -> tuple[StudyPart, tuple[SyscallCounts, ...]]:
    """Do one part of those `selected`. A fault is that part's: the study goes on, and `--resume`
    tries it again."""
    study, place = record.study, run / part.name
    counts: tuple[SyscallCounts, ...] = ()
    try:
        if part.kind == "comparison":
            comparison = next(each for each in study.comparisons if each.name == part.name)
            then = version_of(record, comparison.app)
            question = question_of(study, comparison, record.scale)
            version = _compare(question, place, comparison.app, then, origin=record.argv, argv=argv, progress=progress)
        elif part.kind == "sweep":
            sweep = next(each for each in study.sweeps if each.name == part.name)
            then = version_of(record, sweep.app)
            sweeping = sweep_question(study, sweep, record.scale)
            version = _sweep(sweeping, place, sweep.app, then, origin=record.argv, argv=argv, progress=progress)
        else:
            wanted = next(each for each in study.passes if each.name == part.name)
            requests, then = pass_requests(wanted, record.scale), version_of(record, wanted.app)
            counts = count_pass(study, wanted, requests=requests, logs=place / "logs", progress=progress, app_version=then)
            version = counts[0].app_version if counts else ""
    except CannotTrace as error:
        return structs.replace(part, state="impossible", detail=_told(error, run)), ()
    except BudgetTooSmall as error:
        said = f"{error.what}; {enough(study, part.name, selected, record.scale, error.enough_s)}"
        return structs.replace(part, state="failed", detail=said), ()
    except DynoError as error:
        return structs.replace(part, state="failed", detail=_told(error, run)), ()
    return structs.replace(part, state="done", detail="", app_version=version), counts


def _told(error: DynoError, run: Path) -> str:
    """What happened and the next step, for a page that names no path of this machine: paths are
    relative to the study's directory."""
    said = f"{error.what}; {error.next_step}" if error.next_step else error.what
    return said.replace(f"{run}/", "")


def _compare(
    question: CompareRequest, place: Path, app: str, then: str, *, origin: Sequence[str], argv: Sequence[str], progress: Progress
) -> str:
    """Go on with what was begun in `place`, else begin. Gives the app's version, which is to be
    `then` if that is known.

    `origin` is the command line that began the study, and so what repeats this; `argv` that of this
    session.
    """
    begun = begun_in(place)
    if begun is None:
        run = compare(
            question, runs=place, argv=origin, progress=progress, accept=lambda made: refuse_other_version(app, then, made.version)
        )
        return RunState.replay(read_journal(run / FILE)).plan.app_version
    state = RunState.replay(read_journal(begun / FILE))
    refuse_other_version(app, then, state.plan.app_version)
    if state.open_treatments():
        resume(begun, argv=argv, progress=progress)
    return state.plan.app_version


def _sweep(
    question: MeasureRequest, place: Path, app: str, then: str, *, origin: Sequence[str], argv: Sequence[str], progress: Progress
) -> str:
    """The same of a sweep."""
    begun = begun_sweep_in(place)
    if begun is None:
        run = measure(
            question, runs=place, argv=origin, progress=progress, accept=lambda made: refuse_other_version(app, then, made.version)
        )
        return read_sweep(run).plan.app_version
    found = read_sweep(begun)
    refuse_other_version(app, then, found.plan.app_version)
    if not found.finished:
        resume_sweep(begun, argv=argv, progress=progress)
    return found.plan.app_version


def begun_sweep_in(place: Path) -> Path | None:
    """The latest sweep below `place` whose record can be read."""
    for record in sorted(place.glob(f"*/{SWEEP_FILE}"), reverse=True):
        with suppress(DynoError):
            read_sweep(record.parent)
            return record.parent
    return None
