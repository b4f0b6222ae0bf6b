"""A second opinion: other people's generators beside ours on one instance, in turns, and their
throughput over ours."""

import math
import shutil
import subprocess
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.requests import native_targets
from phpdyno.drive.rivals import RIVAL_PACKAGES, Rival, RivalReport, ab_argv, read_ab, read_wrk, wrk_argv
from phpdyno.errors import DynoError
from phpdyno.experiment.common.driven_instances import UNLIMITED
from phpdyno.host.checkup.check import install
from phpdyno.journal.sweep import CrossChecked
from phpdyno.model.workload import Target, Workload
from phpdyno.servers.instance import Instance
from phpdyno.servers.programs.finding import program_path
from phpdyno.servers.supervision.tethered import run_tethered

TURNS = 6
"""Pairs of ours and theirs for each tool: the ratio's mean is then known to a few percent on a
shared host."""
TRIAL_IN_FLIGHT = 20
"""Requests of a trial for each in flight: how fast is it here, and does ab keep its connections?"""
TIMES_AS_LONG = 10
SPARE_S = 30.0
"""A rival that takes ten times as long as we do, and this on top, hangs."""

TOO_FEW = "a kept connection holds one of this server's processes, of which there are fewer"

Drive = Callable[[], float]
"""One turn: throughput per second. Raises DynoError."""


class CrossCheckSetup(Struct, frozen=True):
    """What both are to ask for: one target of one instance through nginx, with so many requests in
    flight, for so long a turn."""

    instance: Instance
    target: Target
    host: str
    concurrency: int
    turn_s: float

    @property
    def url(self) -> str:
        """The target's address for other people's generators."""
        return f"http://{self.instance.http.removeprefix('tcp:')}{self.target.path}"


def find_rival(name: Rival) -> str:
    """Its path. Raises DynoError with the line that installs it."""
    found = shutil.which(name, path=program_path())
    if found is None:
        raise DynoError(f"{name} is not installed", where="--cross-check", next_step=f"install it with: {install(RIVAL_PACKAGES[name])}")
    return found


def checkable(workload: Workload) -> Target | None:
    """The target that both ask for: of those that wrk and ab can ask for (GET, nothing else sent)
    and that answer 2xx, since other statuses are failures to them, the one with most weight; None
    where there is none."""
    able = [target for target in workload.targets if target.method == "GET" and not target.sends and 200 <= target.status < 300]
    return max(able, key=lambda target: target.weight, default=None)


def cross_check(setup: CrossCheckSetup, tool: Rival, chance: np.random.Generator) -> CrossChecked:
    """Turns of one tool and ours. Where it reports failures there are no ratios, and the record
    says why."""
    arm = setup.instance.arm.name
    if not setup.instance.keeps(setup.concurrency):
        return CrossChecked(tool, arm, setup.concurrency, (), detail=TOO_FEW)
    try:
        ours, theirs, kept = _sized(setup, tool, find_rival(tool))
        return CrossChecked(tool, arm, setup.concurrency, take_turns(ours, theirs, turns=TURNS, chance=chance), kept=kept)
    except DynoError as error:
        return CrossChecked(tool, arm, setup.concurrency, (), detail=error.what)


def take_turns(ours: Drive, theirs: Drive, *, turns: int, chance: np.random.Generator) -> tuple[float, ...]:
    """Pairs of turns, each in the order of a coin: theirs over ours."""
    ratios = []
    for _ in range(turns):
        if chance.random() < 0.5:
            mine = ours()
            other = theirs()
        else:
            other = theirs()
            mine = ours()
        ratios.append(other / mine)
    return tuple(ratios)


def _sized(setup: CrossCheckSetup, tool: Rival, path: str) -> tuple[Drive, Drive, bool]:
    """Both sides for turns of equal length, and whether they keep their connections: where ab
    cannot, neither do we."""
    trial = TRIAL_IN_FLIGHT * setup.concurrency
    rate = _ours(setup, trial, keep_alive=True)
    kept = True
    if tool == "ab":
        report = _ab(setup, path, trial, rate)
        kept = 2 * (report.kept or 0) > report.requests
        rate = rate if kept else _ours(setup, trial, keep_alive=False)
    seconds = max(1, math.ceil(setup.turn_s))
    requests = max(trial, math.ceil(rate * seconds))

    def ours() -> float:
        return _ours(setup, requests, keep_alive=kept)

    def theirs() -> float:
        return _ab(setup, path, requests, rate).per_s if tool == "ab" else _wrk(setup, path, seconds).per_s

    return ours, theirs, kept


def _ours(setup: CrossCheckSetup, requests: int, *, keep_alive: bool) -> float:
    """Our generator's throughput. Raises DynoError for failed requests, as the others' reports
    do."""
    app = setup.instance.app
    workload = Workload((setup.target,), setup.host)
    targets = native_targets(workload, "http", docroot=app.docroot, front_controller=app.front_controller, lengths={})
    driver = NativeDriver(setup.instance.http, targets, keep_alive=keep_alive, concurrency=setup.concurrency, max_failures=UNLIMITED)
    try:
        samples = driver.drive(np.zeros(requests, dtype=np.uint32))
    finally:
        driver.close()
    if failed := failures(samples):
        raise DynoError(f"our generator had failures: {failed}")
    return requests * 1e9 / (samples.ended_ns - samples.started_ns)


def _ab(setup: CrossCheckSetup, path: str, requests: int, rate: float) -> RivalReport:
    """ab's report on so many requests, at about `rate` per second."""
    argv = ab_argv(path, setup.url, host=setup.host, concurrency=setup.concurrency, requests=requests, any_length=True)
    return read_ab(_run(argv, requests / rate))


def _wrk(setup: CrossCheckSetup, path: str, seconds: int) -> RivalReport:
    return read_wrk(_run(wrk_argv(path, setup.url, host=setup.host, concurrency=setup.concurrency, seconds=seconds), seconds))


def _run(argv: Sequence[str], seconds: float) -> str:
    """Its report. It runs on our cores and ends with us. Raises DynoError where it does not end
    well."""
    try:
        done = run_tethered(argv, timeout_s=TIMES_AS_LONG * seconds + SPARE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DynoError(f"it does not run to its end: {error}", where=argv[0]) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-300:]
        raise DynoError(f"it ended with exit code {done.returncode}: {said}", where=argv[0])
    return done.stdout.decode(errors="replace")
