"""Instructions per request of an arm, counted by callgrind on servers of their own. Counts are
exact; times under it mean nothing."""

import statistics
import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.requests import native_targets
from phpdyno.experiment.common.progress import Progress
from phpdyno.explain.counting.callgrind import Dump, Function
from phpdyno.explain.counting.under_callgrind import UNKNOWN_INSTRUCTION, CannotCount, Counter
from phpdyno.model.arm import Arm
from phpdyno.model.inside.instructions import FunctionInstructions, Instructions, TargetInstructions
from phpdyno.model.workload import Target
from phpdyno.server_files.apache import is_apache
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import ArmFailed, Instance

ROUNDS = 5
"""Each is one difference of two readings for each target; three are the least that show a
spread."""
LEAST_ROUNDS = 3
MOST_FUNCTIONS = 40
ANSWER_NS = 300_000_000_000
WARM_ROUNDS = 3
JIT_ROUNDS = 200
"""The JIT compiles a function at its 127th call and a loop at its 64th time round, as it comes."""
WARM_S = 60.0
"""The longest warm-up; a page of a large app takes seconds under callgrind, and has its own loops
to make its code hot."""
ONE_WORKER = {
    "pool.pm": "static",
    "pool.pm.max_children": "1",
    "pool.pm.max_requests": "0",
    "pool.request_terminate_timeout": "0",
    "pool.request_slowlog_timeout": "0",
    "ini.max_execution_time": "0",
    "ini.opcache.huge_code_pages": "0",
}
"""One worker that nobody ends for being slow; code that was moved into huge pages would have no
names."""


class InstructionsRead(Struct, frozen=True):
    """Dumps of each round and target, with what came before them."""

    dumps: tuple[tuple[Dump, ...], ...]
    warm_requests: int
    notes: tuple[str, ...]


def count_instructions(bench: Bench, arm: Arm, *, rounds: int = ROUNDS, progress: Progress) -> Instructions:
    """Instructions per request of an arm: an instance of its own under callgrind, one worker, each
    target asked once a round.

    Asked over FastCGI without a web server between: only PHP is counted. Time: some fifty times a
    request's own, `rounds` + 3 of each target (200 with a JIT, a minute at most). Raises
    CannotCount where valgrind is missing or cannot run this arm, ArmFailed when the arm does not
    start or a request fails.
    """
    if is_apache(arm):
        raise CannotCount("only php-fpm's instructions are counted", where=arm.name)
    counter = Counter(bench.supervisor)
    counted = structs.replace(arm, settings={**arm.settings, **ONE_WORKER})
    targets = bench.app_of(arm).workload.targets
    try:
        with bench.running([counted], under=counter.under) as (instance,):
            found = _count(instance, counter, targets, max(LEAST_ROUNDS, rounds), progress)
    except ArmFailed as failure:
        if UNKNOWN_INSTRUCTION.search(str(failure)):
            raise CannotCount("valgrind does not know an instruction of this php-fpm: it was built for a newer processor") from failure
        raise
    notes = found.notes
    if arm.settings.get("ini.opcache.huge_code_pages", "0") not in {"0", "off", ""}:
        notes += ("opcache.huge_code_pages is off while instructions are counted: it changes where code lies, not what is executed",)
    if not counter.addresses_fixed:
        notes += ("this host does not let us fix addresses, so counts may differ a little from start to start",)
    return instructions_in(arm.name, targets, found.dumps, found.warm_requests, notes)


def _count(instance: Instance, counter: Counter, targets: Sequence[Target], rounds: int, progress: Progress) -> InstructionsRead:
    app = instance.app
    asked = native_targets(app.workload, "fastcgi", docroot=app.docroot, front_controller=app.front_controller, lengths={})
    driver = NativeDriver(instance.fastcgi, asked, keep_alive=False, response_timeout_ns=ANSWER_NS)
    try:
        warmed, notes = _warm(instance, counter, driver, len(targets), progress)
        dumps = []
        for number in range(rounds):
            row = []
            for place in range(len(targets)):
                progress.tick(number * len(targets) + place, rounds * len(targets), "counting instructions")
                _ask(instance, driver, place)
                row.append(counter.take(instance.php_pid))
            dumps.append(tuple(row))
        return InstructionsRead(tuple(dumps), warmed, notes)
    finally:
        driver.close()


def _ask(instance: Instance, driver: NativeDriver, place: int) -> None:
    failure = failures(driver.drive(np.array([place], dtype=np.uint32)))
    if failure:
        why = instance.complaint()
        raise ArmFailed(instance.arm, f"requests fail under callgrind: {failure}" + (f"; {why}" if why else ""))


def _warm(instance: Instance, counter: Counter, driver: NativeDriver, targets: int, progress: Progress) -> tuple[int, tuple[str, ...]]:
    """Ask for every target until nothing more is cached; how many requests that took, and what to
    say of it."""
    deadline = time.monotonic() + WARM_S
    began = _cached(instance)
    wanted = JIT_ROUNDS if began[1] else WARM_ROUNDS
    state, done = began, 0
    while True:
        for place in range(targets):
            progress.tick(done, wanted, "warming up under callgrind")
            _ask(instance, driver, place)
        done += 1
        counter.forget(instance.php_pid)
        late = time.monotonic() > deadline
        if done < min(wanted, WARM_ROUNDS) or (done < wanted and not late):
            continue
        before, state = state, _cached(instance)
        counter.forget(instance.php_pid)
        if late or state[0] == before[0]:
            break
    notes: tuple[str, ...] = ()
    if late and done < wanted:
        what = "the JIT may not have compiled all that becomes hot" if began[1] else "not everything may be cached"
        notes = (f"counted after {done} rounds of warm-up, {WARM_S:.0f} s under callgrind: {what}",)
    return done * targets, notes


def _cached(instance: Instance) -> tuple[int, bool]:
    """How many scripts opcache holds, and whether the JIT is on."""
    opcache = instance.read_facts(()).opcache
    if opcache is None:
        return 0, False
    return opcache.scripts, opcache.jit is not None and opcache.jit.on and opcache.jit.buffer_size_bytes > 0


def instructions_in(
    arm: str, targets: Sequence[Target], dumps: Sequence[Sequence[Dump]], warm_requests: int, notes: tuple[str, ...]
) -> Instructions:
    """What rounds (each a dump of every target) say of a request of the mix; functions are those of
    the round in the middle. Pure."""
    weights = [target.weight / sum(each.weight for each in targets) for target in targets]
    mixes = tuple(sum(weight * dump.total for weight, dump in zip(weights, row, strict=True)) for row in dumps)
    middle = statistics.median_low(mixes)
    row = dumps[mixes.index(middle)]
    own: dict[Function, float] = {}
    inclusive: dict[Function, float] = {}
    recursive: set[Function] = set()
    for weight, dump in zip(weights, row, strict=True):
        for key, count in dump.own.items():
            own[key] = own.get(key, 0.0) + weight * count
        for key, count in dump.inclusive.items():
            inclusive[key] = inclusive.get(key, 0.0) + weight * count
        recursive |= dump.recursive
    largest = sorted(own, key=lambda key: (-own[key], key))[:MOST_FUNCTIONS]
    functions = tuple(
        FunctionInstructions(name, place, own[place, name], None if key in recursive else inclusive[key], own[key] / middle)
        for key in largest
        for place, name in (key,)
    )
    by_target = tuple(
        TargetInstructions(target.label, weight, tuple(row[place].total for row in dumps))
        for place, (target, weight) in enumerate(zip(targets, weights, strict=True))
    )
    requests = len(dumps) * len(targets)
    return Instructions(
        arm=arm,
        rounds=mixes,
        median=statistics.median(mixes),
        lowest=min(mixes),
        highest=max(mixes),
        targets=by_target,
        functions=functions,
        requests=requests,
        warm_requests=warm_requests,
        notes=notes,
    )
