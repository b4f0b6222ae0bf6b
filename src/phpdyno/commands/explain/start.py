"""One fresh start of every arm, looked at: CPU by component, waits, the database's count, syscalls,
memory."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.drive.driver import in_words
from phpdyno.errors import DynoError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.in_app import PREPENDED, asked_in_app, look_in_app
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import DrivenInstance, SlotReading, measure_slot, service_ns
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.experiment.common.warm_up import Warm, warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.explain.assembling import GatheredValues, Values
from phpdyno.explain.counting.userstat import counted
from phpdyno.explain.quantities import cpu_values, map_values, opcache_values, stat_values, syscall_values, wait_values
from phpdyno.explain.tracing.syscalls import count_syscalls
from phpdyno.explain.waits.ends import known_ends
from phpdyno.explain.waits.sampler import CannotSeeWaits, sampling_waits
from phpdyno.host.processes.memory import MemoryUnreadable
from phpdyno.host.processes.memory_map import read_map_of
from phpdyno.knobs.in_app import judged_in_app
from phpdyno.knobs.judge import not_effective, prove
from phpdyno.model.arm import Arm
from phpdyno.model.inside.explained import SectionKey
from phpdyno.model.plan import Panel
from phpdyno.model.workload import Workload
from phpdyno.servers.facts.pool_memory import workers_of
from phpdyno.servers.instance import ArmFailed, Instance, keeps_connections
from phpdyno.session.app_servers import AppServers

SLOTS = 5
SLOT_S = 0.1
WAITS_S = 0.8
COUNT_S = 0.3
STRACE_SLOWDOWN = 8
"""Roughly, for a request under strace."""
FPM = "php-fpm"
KEPT = "where nginx keeps its connections, a worker waits at one for the next request: what it waits for the web server is not told"


class Looked(Struct):
    """What is known by now: the sections, how many requests each arm has been measured with, and
    every arm's last warm-up."""

    sections: dict[SectionKey, GatheredValues]
    requests: int = 0
    warm: dict[str, Warm] = {}

    def open(self, key: SectionKey) -> GatheredValues | None:
        """A section that is still looked at; None for one that is not, or cannot be."""
        found = self.sections.get(key)
        return None if found is None or found.unread else found


class FreshStart(Struct, frozen=True):
    """How one start is looked at; `counted_requests` is the most that is asked for under strace.
    `turn` is the number of the start."""

    stand: AppServers
    arms: tuple[Arm, ...]
    workload: Workload
    concurrency: int
    counted_requests: int
    seed: int
    turn: int
    progress: Progress

    @property
    def order(self) -> Sequence[int]:
        """Which arm comes first, in turns."""
        return range(len(self.arms)) if self.turn % 2 == 0 else range(len(self.arms) - 1, -1, -1)

    def deck(self, requests: int, what: int) -> NDArray[np.uint32]:
        """Targets to ask for, the same for every arm."""
        return deal(np.random.default_rng((self.seed, self.turn, what)), [each.weight for each in self.workload.targets], requests)


def look_at_start(start: FreshStart, looked: Looked) -> None:
    """Start every arm once, look, and end them. Raises ArmFailed: an arm does not start, or its
    requests fail."""
    with _driven_instances(start) as driven_instances:
        say = start.progress.phase
        say(f"start {start.turn + 1}: warming up")
        names = tuple({key.removeprefix("env."): None for arm in start.arms for key in arm.settings if key.startswith("env.")})
        weights = [target.weight for target in start.workload.targets]
        warm = [
            warm_up(driven, start.stand.meters, metric="cpu", weights=weights, env_names=names, workers=start.concurrency)
            for driven in driven_instances
        ]
        looked.warm = {arm.name: each for arm, each in zip(start.arms, warm, strict=True)}
        if start.turn == 0:
            _refuse_idle(start.arms, looked)
            say("comparing the arms' answers")
            _refuse_other_answers(start, driven_instances)
        request_s = max(each.request_wall_ns for each in warm) / 1e9
        say(f"start {start.turn + 1}: CPU by component")
        looked.requests += _cpu(start, driven_instances, looked, request_s)
        say(f"start {start.turn + 1}: what workers wait for")
        looked.requests += _waits(start, driven_instances, looked, request_s)
        _memory(start, driven_instances, looked, names)
        _database(start, driven_instances, looked, request_s)
        _syscalls(start, driven_instances, looked, request_s)
        if start.turn == 0:
            _refuse_outdone(start, driven_instances, looked)


def _refuse_outdone(start: FreshStart, driven_instances: Sequence[DrivenInstance], looked: Looked) -> None:
    """Raises ArmFailed where the app or its directory outdoes what the second arm changes. Asked on
    instances that are stopped next."""
    if len(start.arms) < 2:
        return
    first, second = start.arms
    changed = {key: value for key, value in second.settings.items() if first.settings.get(key) != value}
    names = sorted(asked_in_app(changed))
    if not names:
        return
    facts = [looked.warm[arm.name].facts for arm in start.arms]
    seen = [
        look_in_app(driven.instance, start.workload, names, told.ini.get(PREPENDED, ""))
        for driven, told in zip(driven_instances, facts, strict=True)
    ]
    outcomes = judged_in_app(prove(changed, facts[0], facts[1], first.settings), facts[1].ini, seen[0], seen[1])
    if idle := not_effective(outcomes):
        raise ArmFailed(second, idle)


def _refuse_idle(arms: Sequence[Arm], looked: Looked) -> None:
    """Raises ArmFailed where the second arm is not what it says: its figures would be another
    arm's."""
    if len(arms) < 2:
        return
    first, second = arms
    changed = {key: value for key, value in second.settings.items() if first.settings.get(key) != value}
    idle = not_effective(prove(changed, looked.warm[first.name].facts, looked.warm[second.name].facts, first.settings))
    if idle:
        raise ArmFailed(second, idle)


def _refuse_other_answers(start: FreshStart, driven_instances: Sequence[DrivenInstance]) -> None:
    """Raises ArmFailed where the second arm does not answer as the first: it does something else,
    which no time explains. DynoError for answers that may not be timed."""
    answer_check = AnswerCheck(start.workload)
    control, *others = driven_instances
    answer_check.learn(control)
    for driven in others:
        given = [driven.driver.fetch(index) for index in range(len(start.workload.targets))]
        found = answer_check.check(driven, control, given, at_once=False)
        if not found.equal:
            raise ArmFailed(driven.instance.arm, f"it does not answer as {control.instance.arm.name} does: {found.detail}")


@contextmanager
def _driven_instances(start: FreshStart) -> Iterator[list[DrivenInstance]]:
    bench = start.stand.bench
    start.progress.phase(f"start {start.turn + 1}: starting {' and '.join(dict.fromkeys(arm.name for arm in start.arms))}")
    with bench.running(start.arms) as instances, ExitStack() as stack:
        driven_instances = [
            driven_instance(
                each,
                bench,
                Panel("cpu", each.arm, (), start.concurrency),
                workload=start.workload,
                transport=bench.transport,
                lengths={},
            )
            for each in instances
        ]
        for driven in driven_instances:
            stack.enter_context(closing(driven.driver))
        yield driven_instances


def _requests(start: FreshStart, seconds: float, request_s: float) -> int:
    """How many take so long, of each target one at least."""
    per_second = start.concurrency / max(request_s, 1e-6)
    return max(len(start.workload.targets), start.concurrency, round(seconds * per_second))


def _cpu(start: FreshStart, driven_instances: Sequence[DrivenInstance], looked: Looked, request_s: float) -> int:
    section = looked.sections["cpu"]
    size = _requests(start, SLOT_S, request_s)
    readings: list[list[Values]] = [[] for _ in driven_instances]
    for driven in driven_instances:
        driven.begin()
    for slot in range(SLOTS):
        deck = start.deck(size, slot)
        for number in start.order if slot % 2 == 0 else reversed(start.order):
            reading = measure_slot(driven_instances[number], start.stand.meters, deck)
            _refuse_failures(driven_instances[number], reading)
            readings[number].append(
                cpu_values(reading, web=driven_instances[number].instance.web_meter is not None, meters=start.stand.meters)
            )
    for mine in readings:
        section.take(start.turn, {name: statistics.median(each[name] for each in mine) for name in mine[0]})
    return SLOTS * size


def _refuse_failures(driven: DrivenInstance, reading: SlotReading) -> None:
    if reading.failures:
        raise RequestFailed(driven.instance, f"requests fail: {in_words(reading.failures)}")


def _waits(start: FreshStart, driven_instances: Sequence[DrivenInstance], looked: Looked, request_s: float) -> int:
    if looked.open("wall") is None:
        return 0
    deck = start.deck(_requests(start, WAITS_S, request_s), SLOTS)

    def seen(driven: DrivenInstance) -> Values:
        instance = driven.instance
        if not isinstance(instance, Instance) or instance.server != FPM:
            raise CannotSeeWaits("only what workers of php-fpm wait for is known here, and an arm is served by another server")
        stand = start.stand
        known = known_ends(instance.app, instance.fastcgi, stand.bench.database, stand.services)
        with sampling_waits(lambda: workers_of(instance.php_pid), known) as sampling:
            samples = driven.driver.drive(deck)
        if samples.outcome.any():
            raise RequestFailed(instance, "requests fail while workers are watched")
        kept = keeps_connections(instance.arm)
        if kept:
            looked.sections["wall"].notes.append(KEPT)
        return wait_values(sampling.seen, len(deck), float(service_ns(samples).mean()), idle_on_web=kept)

    return len(deck) if _each(start, driven_instances, looked.open("wall"), seen) else 0


def _memory(start: FreshStart, driven_instances: Sequence[DrivenInstance], looked: Looked, names: tuple[str, ...]) -> None:
    def seen(driven: DrivenInstance) -> Values:
        workers = workers_of(driven.instance.php_pid)
        if not workers:
            raise MemoryUnreadable("there is no worker whose memory could be read")
        return map_values(read_map_of(workers[0], str(Path(driven.instance.arm.php.fpm).resolve())))

    _each(start, driven_instances, looked.open("memory"), seen)
    section = looked.sections["opcache"]
    for driven in driven_instances:
        section.take(start.turn, opcache_values(driven.instance.read_facts(names).opcache))


def _database(start: FreshStart, driven_instances: Sequence[DrivenInstance], looked: Looked, request_s: float) -> None:
    if looked.open("database") is None:
        return
    start.progress.phase(f"start {start.turn + 1}: what the database counts")
    stand = start.stand
    servers = {each.service.name: each.socket for each in stand.services if each.service.kind == "mariadb" and each.socket is not None}
    if stand.bench.database is not None:
        servers = {"MariaDB": stand.bench.database.socket, **servers}
    deck = start.deck(_requests(start, COUNT_S, request_s), SLOTS + 1)

    def seen(driven: DrivenInstance) -> Values:
        with ExitStack() as stack:
            counts = {name: stack.enter_context(counted(stand.bench.supervisor, socket)) for name, socket in servers.items()}
            samples = driven.driver.drive(deck)
            driven.instance.await_idle()
        if samples.outcome.any():
            raise RequestFailed(driven.instance, "requests fail while the database counts")
        found: dict[str, float] = {}
        for name, each in counts.items():
            if each.stat is not None:
                found |= stat_values(name, each.stat, len(deck))
        return found

    _each(start, driven_instances, looked.open("database"), seen)


def _syscalls(start: FreshStart, driven_instances: Sequence[DrivenInstance], looked: Looked, request_s: float) -> None:
    if looked.open("syscalls") is None:
        return
    start.progress.phase(f"start {start.turn + 1}: counting syscalls")
    fitting = min(start.counted_requests, round(COUNT_S * start.concurrency / request_s / STRACE_SLOWDOWN))
    deck = start.deck(max(len(start.workload.targets), start.concurrency, fitting), SLOTS + 2)
    _each(
        start,
        driven_instances,
        looked.open("syscalls"),
        lambda driven: syscall_values(count_syscalls(start.stand.bench.supervisor, driven, deck).syscalls, len(deck)),
    )


def _each(
    start: FreshStart, driven_instances: Sequence[DrivenInstance], section: GatheredValues | None, seen: Callable[[DrivenInstance], Values]
) -> bool:
    """Take in what is `seen` of every arm; where it cannot be, the section is not looked at any
    more and says why. Whether it was seen.

    An arm that fails ends all of it.
    """
    if section is None:
        return False
    found: dict[int, Values] = {}
    try:
        for number in start.order:
            found[number] = seen(driven_instances[number])
    except ArmFailed:
        raise
    except DynoError as error:
        section.unread = str(error)
        return False
    for number in range(len(driven_instances)):
        section.take(start.turn, found[number])
    return True
