"""Section `load-core`: our generator beside wrk, ab, h2load and oha on one stack, in turns, in one
go."""

import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import Cores, split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.servers.facts.meter import Meter, await_idle, host_meter
from phpdyno.servers.instance import Instance
from tools.bench.figures import ALPHA, Figure, Target, ratio_figure
from tools.bench.load.generator import Load, Ours, Route
from tools.bench.load.open_lag import measure_lag
from tools.bench.load.rivals import Ask, Rival, find_rivals, without
from tools.bench.results import Missing, Room, Say, Sizes
from tools.bench.stand import KILOBYTE, SIZED, Stand, add_pages, control_arm, pinned, prepared, require_answer, standing

PAGES = {"static": ("nginx, a file of 1 kB", f"/{KILOBYTE}"), "hello": ("hello through nginx", "/"), "sized": ("", f"/{SIZED}")}
CASES = [(page, concurrency) for page in ("static", "hello") for concurrency in (10, 50)]
CALLED = {"wrk": "wrk", "ab": "`ab -k`", "h2load": "h2load", "oha": "oha"}
METERED = ("wrk", "h2load", "oha")
"""Rivals whose CPU is compared. Not ab's: it cannot keep its connections where hello is asked
for."""
WITH_TARGET = len(CASES) + len(CALLED) + 1
WITHOUT_TARGET = len(CASES) * (len(METERED) - 1)
ALPHA_EACH = 0.9 * ALPHA / WITH_TARGET
ALPHA_ASIDE = 0.1 * ALPHA / WITHOUT_TARGET
"""The intervals of all ratios of this section hold together; those without a target take a tenth of
what may go wrong."""
WORKERS = 4
SEED = 1
CONCURRENCY = 10

CHEAPER = Target("≤ 1.0×", at_most=1.0)
AGREES = Target("within 3 %", at_least=1 / 1.03, at_most=1.03)
LESS = Target("< 1×", at_most=1.0)


class Course(Struct, frozen=True):
    """What all comparisons of this section share."""

    ours: Ours
    rivals: Mapping[str, Rival]
    instance: Instance
    sizes: Sizes
    chance: random.Random
    say: Say

    def url(self, page: str) -> str:
        """Address of a page for other people's generators."""
        return f"http://{self.instance.http.removeprefix('tcp:')}{PAGES[page][1]}"


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section: the whole server on the measured core, one generator at a time on
    a helper core."""
    cores, rivals = split_cores(), find_rivals(room.skipped)
    server = Cores(cores.measured, cores.measured)
    with MeasuringLock(), pinned(cores.helpers[-1]), prepared("hello", room.logs, room.say) as (supervisor, app):
        add_pages(app)
        with standing(supervisor, app, server) as stand, stand.bench.running([control_arm(WORKERS)]) as instances:
            require_answer(stand, instances[0])
            with Ours(_routes(stand, instances[0])) as ours:
                course = Course(ours, rivals, instances[0], sizes, random.Random(SEED), room.say)
                return _collect(course, room.skipped, own_core=not set(cores.helpers) & set(cores.measured))


def _collect(course: Course, skipped: list[str], *, own_core: bool) -> list[Figure]:
    figures = [*compare_cpu(course), *compare_throughput(course), compare_machine(course)]
    try:
        figures.append(measure_lag(course.ours, course.sizes, course.chance, course.say, own_core=own_core))
    except Missing as missing:
        skipped.append(f"lag of our generator in an open loop: {missing}")
    return figures


def _routes(stand: Stand, instance: Instance) -> list[Route]:
    docroot, front = str(stand.app.docroot), stand.app.front_controller
    through = [Route(name, instance.http, "http", path, docroot, front) for name, (_, path) in PAGES.items()]
    return [*through, Route("straight", instance.fastcgi, "fastcgi", PAGES["hello"][1], docroot, front)]


# ---- CPU of the generators ---------------------------------------------------------------------


def compare_cpu(course: Course) -> list[Figure]:
    """CPU of the generator against that of others."""
    metered = {name: course.rivals[name] for name in METERED if name in course.rivals}
    return [figure for page, concurrency in CASES for figure in _compare_cpu(course, metered, page, concurrency)] if metered else []


def _compare_cpu(course: Course, metered: Mapping[str, Rival], page: str, concurrency: int) -> list[Figure]:
    """Rounds in random order. Start-up counts for nobody: ours runs already, the others' own is
    taken off."""
    title = f"{PAGES[page][0]}, c = {concurrency}"
    course.say(f"CPU per request beside {_and(metered)}, {title}: {course.sizes.pairs} rounds")
    requests = course.ours.size_for(page, seconds=course.sizes.slot_s, concurrency=concurrency)
    ask = Ask(course.url(page), requests, concurrency)
    start_ups = {name: rival.start_up(ask, course.sizes.start_ups) for name, rival in metered.items()}
    loads = _take_turns(course, metered, page, ask, rounds=course.sizes.pairs)
    mine = loads["ours"]
    return [
        _cpu_figure(name, title, mine, loads[name], [without(load, start_up) for load in loads[name]])
        for name, start_up in start_ups.items()
    ]


def _cpu_figure(rival: str, title: str, mine: Sequence[Load], gross: Sequence[Load], net: Sequence[Load]) -> Figure:
    """`gross` holds the rival's start-up, `net` does not. Only wrk's is a target."""
    detail = (
        f"{_micro(mine)} µs against {_micro(net)} µs, with {rival}'s start-up {_micro(gross)} µs; "
        f"{_rate(mine)} against {_rate(gross)} requests per second"
    )
    name = f"CPU of our generator / {rival}'s per request: {title}"
    alpha, target = (ALPHA_EACH, CHEAPER) if rival == "wrk" else (ALPHA_ASIDE, None)
    return ratio_figure(name, cost_logs(mine, net), alpha=alpha, target=target, detail=detail)


def _take_turns(course: Course, rivals: Mapping[str, Rival], page: str, ask: Ask, *, rounds: int) -> dict[str, list[Load]]:
    """Ours and every rival once in each round, in random order."""
    loads: dict[str, list[Load]] = {"ours": [], **{name: [] for name in rivals}}
    for _ in range(rounds):
        for turn in course.chance.sample(list(loads), len(loads)):
            if turn == "ours":
                loads[turn].append(course.ours.drive(page, requests=ask.requests, concurrency=ask.concurrency))
            else:
                loads[turn].append(rivals[turn].drive(ask))
    return loads


def cost_logs(first: Sequence[Load], second: Sequence[Load]) -> list[float]:
    """Log of first / second, CPU of the generator per request, pair by pair."""
    return [math.log(mine.cpu_per_request_ns / other.cpu_per_request_ns) for mine, other in zip(first, second, strict=True)]


def rate_logs(first: Sequence[Load], second: Sequence[Load]) -> list[float]:
    """Log of first / second, throughput, pair by pair."""
    return [math.log(mine.per_s / other.per_s) for mine, other in zip(first, second, strict=True)]


def _micro(loads: Sequence[Load]) -> str:
    """CPU per request in µs over all slots."""
    return f"{sum(load.cpu_ns for load in loads) / sum(load.requests for load in loads) / 1e3:.2f}"


def _rate(loads: Sequence[Load]) -> str:
    """Median throughput."""
    return f"{statistics.median(load.per_s for load in loads):.0f}"


def _and(names: Iterable[str]) -> str:
    """`wrk, ab and oha`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


# ---- agreement in throughput -------------------------------------------------------------------


def compare_throughput(course: Course) -> list[Figure]:
    """Throughput beside that of all others."""
    if not course.rivals:
        return []
    course.say(f"throughput beside {_and(course.rivals)}: {course.sizes.rounds} rounds")
    requests = course.ours.size_for("sized", seconds=course.sizes.slot_s, concurrency=CONCURRENCY)
    loads = _take_turns(course, course.rivals, "sized", Ask(course.url("sized"), requests, CONCURRENCY), rounds=course.sizes.rounds)
    return [
        ratio_figure(
            f"throughput by our generator / by {CALLED[rival]}: hello with a Content-Length through nginx, c = {CONCURRENCY}",
            rate_logs(loads["ours"], loads[rival]),
            alpha=ALPHA_EACH,
            target=AGREES,
            detail=f"{_rate(loads['ours'])} against {_rate(loads[rival])} requests per second",
        )
        for rival in course.rivals
    ]


# ---- the whole machine -------------------------------------------------------------------------


def compare_machine(course: Course) -> Figure:
    """CPU of the whole machine per request, FastCGI straight against through nginx."""
    sizes = course.sizes
    course.say(f"CPU of the whole machine, FastCGI against nginx: {sizes.pairs} pairs")
    meter = host_meter(find_cpu_groups())
    requests = course.ours.size_for("hello", seconds=sizes.machine_slot_s, concurrency=CONCURRENCY)
    course.ours.size_for("straight", seconds=sizes.machine_slot_s, concurrency=CONCURRENCY)
    costs: dict[str, list[int]] = {"straight": [], "hello": []}
    for _ in range(sizes.pairs):
        for route in course.chance.sample(list(costs), len(costs)):
            costs[route].append(_machine_ns(course, meter, route, requests))
    logs = [math.log(straight / through) for straight, through in zip(costs["straight"], costs["hello"], strict=True)]
    straight, through = (sum(costs[route]) / len(costs[route]) / requests / 1e3 for route in ("straight", "hello"))
    name = f"CPU of the whole machine per request, FastCGI straight to php-fpm / through nginx: hello, c = {CONCURRENCY}"
    return ratio_figure(name, logs, alpha=ALPHA_EACH, target=LESS, detail=f"{straight:.1f} µs against {through:.1f} µs")


def _machine_ns(course: Course, meter: Meter, route: str, requests: int) -> int:
    """Busy time of all cores for one slot, what php-fpm does after the last response included."""
    before = meter.read_ns()
    course.ours.drive(route, requests=requests, concurrency=CONCURRENCY)
    await_idle(course.instance.fpm.pid)
    return meter.read_ns() - before
