"""Section `load-core`: our generator beside wrk and ab on one stack, in turns, in one go."""

import math
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import Cores, split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.stack.instance import Instance
from phpdyno.stack.meter import Meter, await_idle, host_meter
from tests.bench.figures import ALPHA, Figure, Target, ratio_figure
from tests.bench.generator import Load, Ours, Route
from tests.bench.results import Missing, Sizes
from tests.bench.rivals import Ab, Wrk
from tests.bench.stand import KILOBYTE, SIZED, Say, Stand, add_pages, control_arm, pinned, prepared, require_answer, standing

PAGES = {"static": ("nginx, a file of 1 kB", f"/{KILOBYTE}"), "hello": ("hello through nginx", "/"), "sized": ("", f"/{SIZED}")}
CASES = [(page, concurrency) for page in ("static", "hello") for concurrency in (10, 50)]
COMPARISONS = len(CASES) + 3
ALPHA_EACH = ALPHA / COMPARISONS
"""The intervals of all ratios of this section hold together."""
WORKERS = 4
SEED = 1
CONCURRENCY = 10

CHEAPER = Target("≤ 1.0×", at_most=1.0)
AGREES = Target("within 3 %", at_least=1 / 1.03, at_most=1.03)
LESS = Target("< 1×", at_most=1.0)


class Course(Struct, frozen=True):
    """What all comparisons of this section share."""

    ours: Ours
    instance: Instance
    sizes: Sizes
    chance: random.Random
    say: Say

    def url(self, page: str) -> str:
        """Address of a page for other people's generators."""
        return f"http://{self.instance.http.removeprefix('tcp:')}{PAGES[page][1]}"


def measure(sizes: Sizes, logs: Path, say: Say, skipped: list[str]) -> list[Figure]:
    """All figures of the section: the whole server on the measured core, one generator at a time on a helper core."""
    cores = split_cores()
    server = Cores(cores.measured, cores.measured)
    with MeasuringLock(), pinned(cores.helpers[-1]), prepared("hello", logs, say) as (supervisor, app):
        add_pages(app)
        with standing(supervisor, app, server) as stand, stand.bench.running([control_arm(WORKERS)]) as instances:
            require_answer(stand, instances[0])
            with Ours(_routes(stand, instances[0])) as ours:
                course = Course(ours, instances[0], sizes, random.Random(SEED), say)
                return _collect(course, skipped)


def _collect(course: Course, skipped: list[str]) -> list[Figure]:
    figures: list[Figure] = []
    for what, part in (("CPU per request against wrk's", compare_cpu), ("throughput beside that of wrk and ab", compare_throughput)):
        try:
            figures += part(course)
        except Missing as missing:
            skipped.append(f"{what}: {missing}")
    return [*figures, compare_machine(course)]


def _routes(stand: Stand, instance: Instance) -> list[Route]:
    docroot, front = str(stand.app.docroot), stand.app.front_controller
    through = [Route(name, instance.http, "http", path, docroot, front) for name, (_, path) in PAGES.items()]
    return [*through, Route("straight", instance.fastcgi, "fastcgi", PAGES["hello"][1], docroot, front)]


# ---- CPU of the generators ---------------------------------------------------------------------


def compare_cpu(course: Course) -> list[Figure]:
    """CPU of the generator against wrk's."""
    wrk = Wrk()
    start_up_ns = {
        concurrency: wrk.start_up_ns(concurrency=concurrency, times=course.sizes.start_ups) for concurrency in {case[1] for case in CASES}
    }
    return [_compare_cpu(course, wrk, page, concurrency, start_up_ns[concurrency]) for page, concurrency in CASES]


def _compare_cpu(course: Course, wrk: Wrk, page: str, concurrency: int, start_up_ns: int) -> Figure:
    """Pairs in coin order. Start-up counts for neither: ours runs already, wrk's own is taken off."""
    title = f"{PAGES[page][0]}, c = {concurrency}"
    course.say(f"CPU per request, {title}: {course.sizes.pairs} pairs")
    requests = course.ours.size_for(page, seconds=course.sizes.slot_s, concurrency=concurrency)
    mine: list[Load] = []
    theirs: list[Load] = []
    for _ in range(course.sizes.pairs):
        turns = ["ours", "wrk"] if course.chance.random() < 0.5 else ["wrk", "ours"]
        for turn in turns:
            if turn == "ours":
                mine.append(course.ours.drive(page, requests=requests, concurrency=concurrency))
            else:
                theirs.append(wrk.drive(course.url(page), concurrency=concurrency))
    net = [Load(load.requests, load.cpu_ns - start_up_ns, load.wall_ns) for load in theirs]
    detail = (
        f"{_micro(mine)} µs against {_micro(net)} µs, with wrk's start-up {_micro(theirs)} µs; "
        f"{_rate(mine)} against {_rate(theirs)} requests per second"
    )
    name = f"CPU of our generator / wrk's per request: {title}"
    return ratio_figure(name, cost_logs(mine, net), alpha=ALPHA_EACH, target=CHEAPER, detail=detail)


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


# ---- agreement in throughput -------------------------------------------------------------------


def compare_throughput(course: Course) -> list[Figure]:
    """Throughput beside that of wrk and ab."""
    wrk, ab = Wrk(), Ab()
    course.say(f"throughput beside wrk and ab: {course.sizes.rounds} rounds")
    requests = course.ours.size_for("sized", seconds=course.sizes.slot_s, concurrency=CONCURRENCY)
    url = course.url("sized")
    loads: dict[str, list[Load]] = {"ours": [], "wrk": [], "ab": []}
    for _ in range(course.sizes.rounds):
        for turn in course.chance.sample(list(loads), len(loads)):
            if turn == "ours":
                loads[turn].append(course.ours.drive("sized", requests=requests, concurrency=CONCURRENCY))
            elif turn == "wrk":
                loads[turn].append(wrk.drive(url, concurrency=CONCURRENCY))
            else:
                loads[turn].append(ab.drive(url, requests=requests, concurrency=CONCURRENCY))
    return [
        ratio_figure(
            f"throughput by our generator / by {called}: hello with a Content-Length through nginx, c = {CONCURRENCY}",
            rate_logs(loads["ours"], loads[rival]),
            alpha=ALPHA_EACH,
            target=AGREES,
            detail=f"{_rate(loads['ours'])} against {_rate(loads[rival])} requests per second",
        )
        for rival, called in (("wrk", "wrk"), ("ab", "`ab -k`"))
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
