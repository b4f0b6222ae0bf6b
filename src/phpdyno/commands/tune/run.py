"""phpdyno tune: from an app to a combination of changes that was proved, and the bundle that
carries it."""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno import __version__
from phpdyno.commands.tune.builds import build_candidates, fitting_builds
from phpdyno.commands.tune.bundle import make_tune_bundle
from phpdyno.commands.tune.measurer import TuneMeasurer
from phpdyno.commands.tune.parts import TuneChanged, spent_in_parts
from phpdyno.commands.tune.session import TuneSubject, laboratory, subject_of
from phpdyno.commands.tune.stages.loaded import Loaded
from phpdyno.commands.tune.stages.numbers import numbers_for, with_numbers
from phpdyno.commands.tune.stages.preload import find_preload
from phpdyno.commands.tune.stages.proof import ProofStage
from phpdyno.commands.tune.stages.screen import screen_all
from phpdyno.commands.tune.stages.search import TuneSearch, Winner
from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.records import Preflight, ReachedFor
from phpdyno.journal.tune import TUNE_SCHEMA, TuneRecord, read_tune, write_tune
from phpdyno.model.runs.tune import Found, TuneRequest
from phpdyno.session.ending import Outcome
from phpdyno.session.environment import refuse_another_host
from phpdyno.session.peers import go_on_with, with_named_peers
from phpdyno.session.run_directory import check_place, make_run_dir
from phpdyno.session.specs import CONTROL_OPTION, Imported
from phpdyno.tuning.preloading import PRELOAD, preload_text

COMMAND = "tune"
BUNDLE = "bundle"


def tune(asked: TuneRequest, *, runs: Path, argv: Sequence[str], progress: Progress, with_builds: bool = False) -> Path:
    """Search, prove, write the bundle; gives the run's directory. What can be refused is refused
    before anything starts.

    `with_builds`: builds in the cache that stand in for the control's PHP are tried as well.
    """
    asked = structs.replace(asked, source=with_named_peers(asked.source))
    subject = subject_of(asked)
    if with_builds:
        builds = fitting_builds(subject.controls[0], subject.definition.name)
        subject = structs.replace(subject, asked=structs.replace(asked, builds=builds))
    with MeasuringLock():
        run = make_run_dir(runs, COMMAND, subject.definition.name)
        with laboratory(subject, run, argv=argv, progress=progress) as (measurer, preflight):
            for note in subject.maker.reader.notes:
                progress.note(note)
            reached = measurer.parts.look_before(subject.controls[0], measurer.app.workload)
            Tuning(run, _new(subject, measurer, preflight, argv, reached), measurer, progress).go()
    return run


def resume_tune(run: Path, *, progress: Progress) -> Path:
    """Go on with a tune that was interrupted; finished blocks count. Raises UsageError where
    nothing is left to do."""
    run = check_place(run)
    record = read_tune(run)
    if record.outcome == "finished":
        raise UsageError("this tune is finished", where=str(run), next_step=f"see it with: phpdyno report {run}")
    go_on_with(record.asked.source.network)
    subject = subject_of(record.asked)
    spent_s = max(record.spent_s, spent_in_parts(run))
    with (
        MeasuringLock(),
        laboratory(subject, run, argv=record.argv, progress=progress, before_s=spent_s, memory_kib=record.memory_kib) as (
            measurer,
            preflight,
        ),
    ):
        refuse_changed_tune(record, subject, measurer, preflight)
        Tuning(run, record, measurer, progress).go()
    return run


def _new(subject: TuneSubject, measurer: TuneMeasurer, preflight: Preflight, argv: Sequence[str], reached: ReachedFor | None) -> TuneRecord:
    return TuneRecord(
        schema=TUNE_SCHEMA,
        phpdyno=__version__,
        started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        argv=tuple(argv),
        asked=subject.asked,
        app=measurer.app.name,
        app_version=measurer.app.version,
        control=subject.controls[0],
        host=preflight.host,
        warnings=preflight.warnings,
        notes=tuple(subject.maker.reader.notes),
        memory_kib=measurer.memory_kib,
        based_on=digests_of(measurer.live),
        reached=reached,
    )


def digests_of(live: Imported | None) -> dict[str, str]:
    """SHA-256 of each configuration file of a running pool, by path."""
    return {path: hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest() for path, text in live.basis.items()} if live else {}


def refuse_changed_tune(before: TuneRecord, subject: TuneSubject, measurer: TuneMeasurer, preflight: Preflight) -> None:
    """What was measured on another control, app or host may not be mixed with the rest. Raises
    DynoError."""
    refuse_another_host(before.host, preflight.host)
    if before.app_version != measurer.app.version:
        raise DynoError("the app has changed since this tune began", where=before.app, next_step="start a new one")
    now = subject.controls[0]
    if before.control.settings != now.settings:
        raise DynoError("the control has changed since this tune began", where=CONTROL_OPTION, next_step="start a new one")
    if before.control.php.identity != now.php.identity:
        what = f"PHP {now.php.version} or one of its extensions is not the one that this tune began with ({before.control.php.version})"
        raise DynoError(what, where=now.php.fpm, next_step="start a new one")
    files = digests_of(measurer.live) if before.based_on else {}
    for path in sorted(before.based_on.keys() | files.keys()):
        if before.based_on.get(path) != files.get(path):
            raise DynoError("this file of the running pool has changed since this tune began", where=path, next_step="start a new one")


class Tuning:
    """One session of a tune: walks its stages, keeps what is found, and how it ended."""

    def __init__(self, run: Path, record: TuneRecord, measurer: TuneMeasurer, progress: Progress) -> None:
        self.record = record
        self._run = run
        self._measurer = measurer
        self._progress = progress

    def go(self) -> None:
        """Tune to the end, whatever was measured before. Raises DynoError, Interrupted."""
        before = self.record
        self.record = structs.replace(before, outcome="", detail="")
        self._keep(before.found)
        try:
            found = self._stages()
            if found.settings:
                self._write_bundle(found)
                self.record = structs.replace(self.record, bundle=BUNDLE)
            self._end("finished")
        except KeyboardInterrupt:
            self._end("interrupted")
            raise Interrupted(str(self._run), COMMAND) from None
        except TuneChanged:
            # What it found before it was interrupted is still what it found.
            write_tune(self._run, before)
            raise
        except DynoError as error:
            self._end("failed", str(error))
            raise

    def _write_bundle(self, found: Found) -> None:
        measurer = self._measurer
        under_load = measurer.live or measurer.metric == "throughput" or any(each.decision == "adopted" for each in found.loaded)
        make_tune_bundle(
            self._run / BUNDLE,
            self._run.name,
            self.record,
            found,
            control=measurer.settings("throughput" if under_load else "cpu"),
            live=measurer.live,
            preload=preload_text(found.preload, measurer.app.original) if PRELOAD in found.settings else "",
            preload_root=str(measurer.app.original or ""),
        )

    def _stages(self) -> Found:
        measurer, tell = self._measurer, self._progress.note
        begun = self.record.found
        # What follows from the parts is found again on the way; what was promised stands.
        planned = begun.broken or begun.screening
        fresh = Found(scripts=begun.scripts, plan=begun.plan, times=begun.times, screening=planned)
        search = TuneSearch(measurer, self.record.host, fresh, keep=self._keep, tell=tell)
        seen = search.look()
        search_state = search.try_each(seen, (*build_candidates(measurer.asked.builds), *find_preload(search, seen)))
        numbers = numbers_for(search_state, self._measurer.asked.knobs)
        search_state = search.plan(search_state, numeric=bool(numbers))
        winner = search.race(*screen_all(search, search_state)) if search_state.factors else Winner((), None)
        winner = with_numbers(search, search_state, winner, numbers)
        adopted = ProofStage(search, search_state.known).prove(winner)
        search.take(settings=adopted)
        loaded = Loaded(search, search_state.known, adopted).decide(search_state.loaded)
        search.take(settings={**adopted, **loaded})
        return search.found

    def _keep(self, found: Found) -> None:
        measurer = self._measurer
        self.record = structs.replace(self.record, found=found, parts=tuple(measurer.parts.taken), spent_s=measurer.clock.spent_s())
        write_tune(self._run, self.record)

    def _end(self, outcome: Outcome, detail: str = "") -> None:
        self.record = structs.replace(self.record, outcome=outcome, detail=detail)
        self._keep(self.record.found)
