"""phpdyno selfcheck: comparisons whose answer is known beforehand, and how often the answer was
right."""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno import __version__
from phpdyno.commands.selfcheck.comparing import CURRENT, SelfcheckSetup, calibrate, measure_one, open_setup
from phpdyno.commands.selfcheck.judged import claimed, holds_truth
from phpdyno.commands.selfcheck.loop_cost import measure_ground
from phpdyno.commands.selfcheck.schedule import Job, jobs_of
from phpdyno.commands.selfcheck.words import ground_in_words
from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.checks import (
    CHECKS_FILE,
    CHECKS_SCHEMA,
    Checks,
    ChecksHeader,
    Compared,
    LoopCost,
    SelfcheckRequest,
    SessionBegan,
    read_checks,
)
from phpdyno.journal.reader import drop_cut_off_line
from phpdyno.journal.writer import JournalWriter
from phpdyno.session.environment import refuse_another_host
from phpdyno.session.provenance import code_digest
from phpdyno.session.run_directory import check_place, make_run_dir

MOST_KEPT = 20
KEPT = "kept"
QUICK = SelfcheckRequest("hello", aa=10, zero=2, planted=8, planted_budget_s=20.0, rounds=6, long=1)
FULL = SelfcheckRequest("hello", aa=200, zero=50, planted=200, long=20)


class SelfcheckChanged(UsageError):  # noqa: N818 (it names what is the matter)
    """Comparisons made now may not be counted together with the earlier ones."""


def with_comparisons(wish: SelfcheckRequest, comparisons: int) -> SelfcheckRequest:
    """A selfcheck of so many A/A and planted comparisons, and a quarter as many without effect.

    A tenth of the A/A are long, one at least where there are two.
    """
    long = max(comparisons // 10, min(1, comparisons - 1))
    return structs.replace(wish, aa=comparisons, zero=comparisons // 4, planted=comparisons, long=long)


def selfcheck(wish: SelfcheckRequest, *, runs: Path, argv: Sequence[str], progress: Progress) -> tuple[Path, Checks]:
    """Carry out all comparisons of a wish in a new directory. Raises DynoError, Interrupted."""
    with MeasuringLock():
        run = make_run_dir(runs, "selfcheck", wish.app)
    begin(run, wish, argv=argv)
    return run, _go(run, progress)


def resume_selfcheck(run: Path, progress: Progress) -> tuple[Path, Checks]:
    """Go on with the comparisons that are not done; a finished selfcheck is only shown again.

    Raises Changed where the code that measures, the host or the app is not the one that it began
    with; UsageError, DynoError.
    """
    run = check_place(run)
    checks = read_checks(run)
    if checks.finished:
        return run, checks
    if checks.header.code != code_digest():
        what = f"the code that measures is not the one that this selfcheck began with (phpdyno {checks.header.phpdyno})"
        raise SelfcheckChanged(what, where=str(run), next_step="start a new one")
    return run, _go(run, progress)


def begin(run: Path, wish: SelfcheckRequest, *, argv: Sequence[str]) -> None:
    """Write the first line; nothing is measured yet."""
    with JournalWriter(run / CHECKS_FILE) as writer:
        started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        writer.append(ChecksHeader(CHECKS_SCHEMA, __version__, code_digest(), started, tuple(argv), wish))


def _go(run: Path, progress: Progress) -> Checks:
    """Everything that is not done yet, each comparison on disk before the next begins."""
    try:
        with MeasuringLock():
            drop_cut_off_line(run / CHECKS_FILE)
            before = read_checks(run)
            with JournalWriter(run / CHECKS_FILE) as writer, open_setup(before.header.wish, run, progress) as setup:
                ground = _ground(setup, before, writer)
                progress.note(ground_in_words(ground))
                session = calibrate(setup, ground)
                writer.append(session)
                _compare_all(setup, ground, session, before, writer)
    except KeyboardInterrupt:
        raise Interrupted(str(run), "selfcheck") from None
    finally:
        shutil.rmtree(run / CURRENT, ignore_errors=True)
    return read_checks(run)


def _ground(setup: SelfcheckSetup, before: Checks, writer: JournalWriter) -> LoopCost:
    """What the planted effect rests on: measured once, and taken from the record later, where host
    and app are still the same."""
    if before.ground is None:
        ground = measure_ground(setup.loop, setup.wish, setup.host, setup.progress)
        writer.append(ground)
        return ground
    try:
        refuse_another_host(before.ground.host, setup.host)
    except DynoError as error:
        raise SelfcheckChanged(error.what, where=str(setup.run), next_step="start a new one") from error
    if before.ground.app_version != setup.loop.stage.app.version:
        raise SelfcheckChanged("the app is not the one that this selfcheck began with", where=setup.wish.app, next_step="start a new one")
    return before.ground


def _compare_all(setup: SelfcheckSetup, loop_cost: LoopCost, session: SessionBegan, before: Checks, writer: JournalWriter) -> None:
    done = list(before.compared)
    numbers = {each.number for each in done}
    todo = [job for job in jobs_of(setup.wish) if job.number not in numbers]
    clock = _SelfcheckProgress(setup.progress, todo, session, done)
    most_s = sum(session.plan_of(job.kind)[1] for job in todo)
    planned = f"{clock.left_s() / 60:.0f} minutes if they are as quick as planned, {most_s / 60:.0f} if each uses up its budget"
    setup.progress.note(f"{len(todo)} comparisons to make: {planned}")
    if session.planted_budget_s > setup.wish.planted_budget_s:
        asked = f"{setup.wish.planted_budget_s:.0f} s were asked for"
        setup.progress.note(f"a planted comparison gets {session.planted_budget_s:.0f} s: too few blocks fit in less here ({asked})")
    for job in todo:
        clock.turn(job)
        compared, place = measure_one(setup, loop_cost, session, job, clock)
        if is_wrong(compared) and sum(1 for each in done if each.kept) < MOST_KEPT:
            kept = Path(KEPT) / f"{job.number:04d}-{job.kind.replace('/', '').replace(' ', '-')}"
            shutil.rmtree(run_place := setup.run / kept, ignore_errors=True)
            run_place.parent.mkdir(exist_ok=True)
            place.rename(run_place)
            compared = structs.replace(compared, kept=str(kept))
        writer.append(compared)
        done.append(compared)
        clock.take(compared)


def is_wrong(compared: Compared) -> bool:
    """A false alarm, a wrong sign, an interval beside the truth, or no number at all."""
    if compared.numberless:
        return True
    beside = compared.low is not None and not holds_truth(compared)
    return beside or (claimed(compared) != 0 and claimed(compared) * compared.truth <= 0)


class _SelfcheckProgress:
    """What a comparison tells, with its place in the whole; the time that is left is reckoned by
    what each kind has taken so far."""

    def __init__(self, inner: Progress, todo: Sequence[Job], session: SessionBegan, done: Sequence[Compared]) -> None:
        self._inner = inner
        self._todo = list(todo)
        self._began = time.monotonic()
        planned_s = min(session.planted.eta_s or session.planted_budget_s, session.planted_budget_s)
        self._guess_s: dict[str, float] = {job.kind: planned_s if job.kind == "planted" else session.plan_of(job.kind)[1] for job in todo}
        self._taken: dict[str, list[float]] = {}
        self._text = ""
        for each in done:
            self._taken.setdefault(each.kind, []).append(each.seconds)

    def left_s(self) -> float:
        """Seconds until the last comparison is done."""
        return sum(self._typical_s(job.kind) for job in self._todo)

    def _typical_s(self, kind: str) -> float:
        taken = self._taken.get(kind)
        return sum(taken) / len(taken) if taken else self._guess_s[kind]

    def turn(self, job: Job) -> None:
        """The next comparison begins."""
        self._text = f"{len(self._todo)} to go"
        self._inner.phase(f"{job.kind}, seed {job.seed}")

    def take(self, compared: Compared) -> None:
        """A comparison is done."""
        self._taken.setdefault(compared.kind, []).append(compared.seconds)
        del self._todo[0]

    def phase(self, text: str) -> None:
        """A comparison's own phases are too short to be read."""

    def note(self, text: str) -> None:
        """The plan is that of the session."""

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Time went by in one comparison."""
        gone_s = time.monotonic() - self._began
        self._inner.tick(gone_s, gone_s + max(0.0, self.left_s() - elapsed_s), self._text)
