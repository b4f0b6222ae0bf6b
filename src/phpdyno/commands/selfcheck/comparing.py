"""What all comparisons of a selfcheck share (app, stage, calibration, the control's answers), and
one comparison on it."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean

from msgspec import Struct, structs

from phpdyno import __version__
from phpdyno.apps.registry import open_app
from phpdyno.commands.selfcheck.loop_cost import SPIN, Loop
from phpdyno.commands.selfcheck.schedule import Job
from phpdyno.errors import DynoError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.runner import Runner
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.cgroup import cpu_source
from phpdyno.host.cores import split_cores
from phpdyno.host.preflight import read_host, warnings_for
from phpdyno.journal.checks import Compared, LoopCost, SelfcheckRequest, SessionBegan
from phpdyno.journal.reader import FILE
from phpdyno.journal.records import SCHEMA, Calibrated, Header, Planned, Preflight
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import MAX_LAG_OF_CPU, AppSource, Plan
from phpdyno.model.verdict import Verdict
from phpdyno.package import PHP_FILES
from phpdyno.paths import cache_dir
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.app_servers import start_shared
from phpdyno.session.arms import Arms, make_arms
from phpdyno.stats.comparison.pooled_lag import lag_about
from phpdyno.stats.comparison.sequence import least_blocks

SPIN_FILE = PHP_FILES / "spin.php"
NOTHING = "env.PHPDYNO_NOTHING=1"
CURRENT = "current"
CALIBRATION_BUDGET_S = 60.0
LEAST_LOOKS = 10
"""An A/A comparison is looked at after each block; one that ends with the first finite interval
would be looked at once."""
LONGER = 1.25
LONG_BLOCKS = 60
"""A comparison that takes its time is looked at some twenty to sixty times."""
SPARE = 1.15
"""Looking at other slot lengths, and blocks that take longer than forecast."""


class SelfcheckSetup(Struct, frozen=True):
    """All that comparisons share within a session."""

    loop: Loop
    answer_check: AnswerCheck
    host: HostFacts
    run: Path
    wish: SelfcheckRequest
    progress: Progress


@contextmanager
def open_setup(wish: SelfcheckRequest, run: Path, progress: Progress) -> Iterator[SelfcheckSetup]:
    """Prepare the app and start what all instances share; logs go to the run. Raises DynoError."""
    cores = split_cores()
    with Supervisor(run / "logs") as supervisor, ExitStack() as stack:
        app = _with_loop(open_app(wish.app).prepare(supervisor, cache=cache_dir(), progress=progress.phase), supervisor)
        shared = start_shared(stack, app, supervisor, cores)
        php = make_arms("", (), aa=True).control.php
        versions = {f"php ({php.fpm})": php.version, **({"mariadb": Database.version()} if shared.database else {})}
        host = read_host(cores, cpu_source(shared.groups), versions)
        loop = Loop(shared.bench(transport="fastcgi"), shared.meters)
        yield SelfcheckSetup(loop, AnswerCheck(app.workload), host, run, wish, progress)


def _with_loop(app: PreparedApp, supervisor: Supervisor) -> PreparedApp:
    """The loop before every request of any app."""
    place = supervisor.live / "spin" / SPIN_FILE.name
    place.parent.mkdir()
    shutil.copyfile(SPIN_FILE, place)
    return structs.replace(app, ini={**app.ini, "auto_prepend_file": str(place), "opcache.jit_buffer_size": "0"})


def calibrate(setup: SelfcheckSetup, ground: LoopCost) -> SessionBegan:
    """Calibrate once for all comparisons of this session, and learn the control's answers. Raises
    DynoError."""
    arms = make_arms(f"{SPIN}={ground.turns}", (), aa=True)
    plan = _plan(setup, arms, margin=0.0, budget_s=CALIBRATION_BUDGET_S, seed=setup.wish.seed)
    with _current(setup.run) as current, JournalWriter(current / FILE) as journal:
        runner = _runner(setup, RunState(plan), journal, current)
        runner.calibrate()
        margin = _margin(setup.wish)
        aa, aa_s = _enough(runner, margin, setup.wish.aa_budget_s)
        planted, planted_s = _enough(runner, margin, setup.wish.planted_budget_s)
    started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    long_s = SPARE * LONG_BLOCKS * (aa.block_s + aa.overhead_s)
    long = structs.replace(aa, blocks=LONG_BLOCKS)
    return SessionBegan(
        started=started,
        warnings=warnings_for(setup.host, plan.max_steal),
        aa=aa,
        aa_budget_s=aa_s,
        planted=planted,
        planted_budget_s=planted_s,
        long=long,
        long_budget_s=long_s,
    )


def _enough(runner: Runner, effect: float, budget_s: float) -> tuple[Calibrated, float]:
    """The plan for a budget, which grows on a host where it holds too few blocks."""
    while True:
        found = runner.forecast(effect, budget_s)
        if found is None:
            raise DynoError("the control cannot be calibrated against itself", next_step="see phpdyno doctor")
        if found.blocks >= max(LEAST_LOOKS, 1 + least_blocks(runner.state.plan.alpha, found.mixture)):
            return found, budget_s
        budget_s *= LONGER


def measure_one(setup: SelfcheckSetup, ground: LoopCost, session: SessionBegan, job: Job, progress: Progress) -> tuple[Compared, Path]:
    """One comparison on fresh instances, and the directory of its journal (the caller's to keep or
    remove). Raises DynoError."""
    calibrated, budget_s = session.plan_of(job.kind)
    arms, truth = _arms(ground, job)
    plan = _plan(setup, arms, margin=_margin(setup.wish) if job.kind == "planted" else 0.0, budget_s=budget_s, seed=job.seed)
    name = arms.treatments[0].name
    calibrated = structs.replace(calibrated, pairs=dict.fromkeys((name,), *calibrated.pairs.values()))
    state, current = RunState(plan), _fresh(setup.run)
    with JournalWriter(current / FILE) as journal:
        journal.append(Header(SCHEMA, __version__, "selfcheck", time.strftime("%Y-%m-%dT%H:%M:%S%z"), _command(setup.wish)))
        journal.append(Planned(plan))
        journal.append(Preflight(setup.host, session.warnings))
        journal.append(calibrated)
        state.take(calibrated)
        began = time.monotonic()
        _runner(setup, state, journal, current, progress).measure()
        seconds = time.monotonic() - began
    # The logs of servers that ended well: some twenty files for each of hundreds of comparisons.
    for log in (setup.run / "logs").glob("php-fpm-*.log"):
        log.unlink()
    counted = [seen.log_ratio for seen in state.observations if not seen.excluded]
    least = least_blocks(plan.alpha, calibrated.mixture)
    return compared_of(job, truth, state.verdicts[name], counted, least=least, seconds=seconds), current


def compared_of(job: Job, truth: float, verdict: Verdict, counted: Sequence[float], *, least: int, seconds: float) -> Compared:
    """The record of a comparison whose blocks that count said `counted`; the interval is finite
    from `least` of them on."""
    effect = verdict.effect
    return Compared(
        number=job.number,
        kind=job.kind,
        seed=job.seed,
        swapped=job.swapped,
        truth=truth,
        verdict=verdict.kind,
        ratio=effect.ratio if effect else None,
        low=effect.low if effect else None,
        high=effect.high if effect else None,
        blocks=effect.blocks if effect else 0,
        seconds=seconds,
        reason=verdict.reason,
        early=fmean(counted[:least]) if len(counted) >= least else None,
        looks=max(0, len(counted) - least + 1),
        lag=lag_about(counted, truth) if job.kind in {"A/A", "long A/A"} else None,
    )


def _arms(ground: LoopCost, job: Job) -> tuple[Arms, float]:
    """The arms of a comparison, and log(cost of the control / cost of the treatment) by
    construction."""
    if job.kind in {"A/A", "long A/A"}:
        return make_arms(f"{SPIN}={ground.turns}", (), aa=True), 0.0
    if job.kind == "zero":
        return make_arms(f"{SPIN}={ground.turns}", (NOTHING,)), 0.0
    cheap, dear = f"{SPIN}={ground.turns}", f"{SPIN}={ground.more_turns}"
    return (make_arms(dear, (cheap,)), ground.effect) if job.swapped else (make_arms(cheap, (dear,)), -ground.effect)


def _command(wish: SelfcheckRequest) -> tuple[str, ...]:
    """What makes it again: the loop in front of the app is the selfcheck's own."""
    return ("selfcheck", "--seed", str(wish.seed), "--effect", f"{100 * wish.effect:g}%")


def _margin(wish: SelfcheckRequest) -> float:
    return wish.effect / 2


def _plan(setup: SelfcheckSetup, arms: Arms, *, margin: float, budget_s: float, seed: int) -> Plan:
    app = setup.loop.stage.app
    return Plan(
        app=app.name,
        app_version=app.version,
        workload=app.workload,
        control=arms.control,
        treatments=arms.treatments,
        margin=margin,
        budget_s=budget_s,
        seed=seed,
        transport="fastcgi",
        source=AppSource(reference=setup.wish.app),
        max_lag_of_cpu=MAX_LAG_OF_CPU,
        settle="direction",
    )


def _runner(setup: SelfcheckSetup, state: RunState, journal: JournalWriter, place: Path, progress: Progress | None = None) -> Runner:
    shared, stage = setup.loop.shared, setup.loop.stage
    return Runner(state, stage, shared, journal, run=place, progress=progress or setup.progress, answer_check=setup.answer_check)


def _fresh(run: Path) -> Path:
    current = run / CURRENT
    shutil.rmtree(current, ignore_errors=True)
    current.mkdir()
    return current


@contextmanager
def _current(run: Path) -> Iterator[Path]:
    """A directory for what is not kept."""
    current = _fresh(run)
    try:
        yield current
    finally:
        shutil.rmtree(current, ignore_errors=True)
