"""What this host can decide in which time: the control against itself for a few seconds, and the
plan that follows from it."""

import time
from contextlib import ExitStack
from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.apps.source import App
from phpdyno.errors import DynoError
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.runner import Runner
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.cores import split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.records import Calibrated
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.plan import MAX_LAG_OF_CPU, Plan, Transport
from phpdyno.paths import cache_path
from phpdyno.servers.programs.inventory import find_tool
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.app_servers import start_shared
from phpdyno.session.arms import Arms, make_arms

BUDGET_S = 60.0
"""Calibration takes a share of the budget it is told: this is worth about five seconds for two A/A
blocks, or four where instances start quickly, starts not included."""

LONGEST_S = 3600.0
EFFECTS = (0.01, 0.05, 0.005)


class Decidable(Struct, frozen=True):
    """How long it takes to find one effect."""

    effect: Annotated[float, Meta(description="The difference, as a fraction (0.01 = 1 %).")]
    seconds: Annotated[
        float | None, Meta(description="Measuring time until it is found in nine comparisons of ten; null when longer than an hour.")
    ]


class HostEstimate(Struct, frozen=True, kw_only=True):
    """What a short A/A measurement of the control says about this host."""

    app: Annotated[str, Meta(description="The app that was measured.")]
    sentence: Annotated[str, Meta(description="The estimate in words, or why there is none.")]
    failed: Annotated[bool, Meta(description="Whether measuring was tried and did not work.")] = False
    php: Annotated[str, Meta(description="The PHP that was measured.")] = ""
    transport: Annotated[str, Meta(description="How php-fpm was asked: `http` through nginx, or `fastcgi` where there is no nginx.")] = ""
    request_cpu_ms: Annotated[float | None, Meta(description="CPU of php-fpm per request, in milliseconds.")] = None
    slot_requests: Annotated[int | None, Meta(description="Requests per slot.")] = None
    sigma_pair: Annotated[float | None, Meta(description="Standard deviation of the log ratio of two adjacent slots.")] = None
    sigma_start: Annotated[float | None, Meta(description="Standard deviation of what an instance draws at its start.")] = None
    decidable: Annotated[tuple[Decidable, ...], Meta(description="How long it takes to find effects of several sizes.")] = ()
    took_s: Annotated[float | None, Meta(description="What the estimate itself took, in seconds.")] = None


def make_estimate(definition: App, *, seed: int, progress: Progress) -> HostEstimate:
    """Measure the control of `definition` against itself. Nothing stays but what preparing the app
    leaves in the cache.

    Another phpdyno that measures is no failure of this host; everything else that goes wrong is.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        try:
            stack.enter_context(MeasuringLock())
        except DynoError as error:
            return HostEstimate(app=definition.name, sentence=f"No estimate: {error.what}.")
        try:
            arms = make_arms("", (), aa=True)
            transport: Transport = "http" if find_tool("nginx") else "fastcgi"
            found = _measured(definition, arms, transport, seed=seed, progress=progress)
        except DynoError as error:
            return HostEstimate(app=definition.name, sentence=f"Measuring was tried and failed: {error}.", failed=True)
    first = found[0]
    php = arms.control.php.version
    decidable = tuple(
        Decidable(effect, each.eta_s if each.eta_s is not None and each.eta_s <= LONGEST_S else None)
        for effect, each in zip(EFFECTS, found, strict=True)
    )
    return HostEstimate(
        app=definition.name,
        sentence=in_words(definition.name, php, first, decidable, transport),
        php=php,
        transport=transport,
        request_cpu_ms=first.request_cpu_ns / 1e6,
        slot_requests=first.slot_requests,
        sigma_pair=first.sigma_pair,
        sigma_start=first.sigma_start,
        decidable=decidable,
        took_s=time.monotonic() - began,
    )


def _measured(definition: App, arms: Arms, transport: Transport, *, seed: int, progress: Progress) -> list[Calibrated]:
    """The plans for each of EFFECTS. Raises DynoError."""
    cores = split_cores()
    with Supervisor() as supervisor, ExitStack() as stack:
        app = definition.prepare(supervisor, cache=cache_path(), progress=progress.phase)
        plan = estimate_plan(app, arms, transport, seed=seed)
        shared = start_shared(stack, app, supervisor, cores)
        journal = stack.enter_context(JournalWriter(supervisor.live / "journal.jsonl"))
        runner = Runner(RunState(plan), shared.bench(transport=transport), shared.meters, journal, run=supervisor.live, progress=progress)
        runner.calibrate()
        found = [runner.forecast(effect, LONGEST_S) for effect in EFFECTS]
    planned = [each for each in found if each is not None]
    if len(planned) < len(EFFECTS):
        raise DynoError("the control differs from itself", where=definition.name)
    return planned


def estimate_plan(app: PreparedApp, arms: Arms, transport: Transport, *, seed: int) -> Plan:
    """A trial: nothing is decided by its own budget, so that is never too small, however long a
    request of the app takes."""
    return Plan(
        app.name,
        app.version,
        app.workload,
        arms.control,
        arms.treatments,
        budget_s=BUDGET_S,
        seed=seed,
        transport=transport,
        trial=True,
        max_lag_of_cpu=MAX_LAG_OF_CPU,
    )


def in_words(app: str, php: str, found: Calibrated, decidable: tuple[Decidable, ...], transport: Transport = "http") -> str:
    """`hello on PHP 8.2.1: … a difference of 1 % is decidable in about 90 s, …`."""
    over = " over FastCGI" if transport == "fastcgi" else ""
    cost = f"{app} on PHP {php}{over}: {found.request_cpu_ns / 1e6:.3g} ms of php-fpm's CPU per request"
    slot = "one request" if found.slot_requests == 1 else f"{found.slot_requests} requests"
    noise = f"pairs of slots of {slot} scatter by {100 * found.sigma_pair:.2g} %, starts by {100 * found.sigma_start:.2g} %"
    times = ", one of ".join(_time(each) for each in decidable)
    return f"{cost}; {noise}: a difference of {times}."


def in_short(found: HostEstimate) -> str:
    """The same without costs and noise: what is found in which time; why there is none where there
    is none."""
    if not found.decidable:
        return found.sentence
    ordered = sorted(found.decidable, key=lambda each: -each.effect)
    return f"{found.app} on PHP {found.php}: a difference of {', one of '.join(map(_time, ordered))}."


def _time(each: Decidable) -> str:
    effect = f"{100 * each.effect:.4g} %"
    return f"{effect} takes more than an hour" if each.seconds is None else f"{effect} is decidable in about {_rounded(each.seconds)}"


def _rounded(seconds: float) -> str:
    """An estimate claims no more digits than it has: `45 s`, `4 min`."""
    if seconds < 100:
        return f"{max(5, 5 * round(seconds / 5))} s"
    return f"{round(seconds / 60)} min"
