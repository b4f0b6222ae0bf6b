"""The rounds of a sweep: what is journaled when, and where a session goes on. Instances and visits
are made up: no server runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Struct, structs

from phpdyno.errors import BudgetTooSmall
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.experiment.sweep.rounds import Begun, SweepRunner
from phpdyno.experiment.sweep.visiting import VisitOrder
from phpdyno.host.cores import Cores, split_cores
from phpdyno.journal.sweep import ArmSeen, Lengths, Visited
from phpdyno.model.arm import Arm
from phpdyno.model.runs.sweep import Point, SweepPlan, Visit, VisitCpu
from phpdyno.servers.instance import ArmFailed
from tests.support.made_up.facts import PLAIN
from tests.support.made_up.sweeps.sweeps import arm, plan_of, visit

POINTS = (Point(1), Point(5), Point(5, 0.5))
PLAN = structs.replace(plan_of([arm("five"), arm("ten")], POINTS, budget_s=1000.0), visit_s=1.0)
LENGTHS = Lengths({"five": (100, 100, 100), "ten": (100, 100, 100)}, {"five": 50.0, "ten": 60.0}, 4)


class FakeProgress:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.notes: list[str] = []

    def phase(self, text: str) -> None:
        self.phases.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Not looked at."""


class FakeVisitor:
    """Every point has 100 requests per second."""

    def __init__(self, valid: bool = True) -> None:
        self.orders: list[tuple[str, int, VisitOrder, bool]] = []
        self._valid = valid
        self.cpu: VisitCpu | None = None
        self.stolen: set[int] = set()
        """Rounds in which the visits of c = 5 are excluded."""

    def visit(self, guest: Any, order: VisitOrder, number: int, *, remember: bool = False) -> Visit:
        self.orders.append((guest.instance.arm.name, number, order, remember))
        requests = int(order.sequence.size)
        valid = requests if self._valid else 0
        return visit(
            number,
            name=guest.instance.arm.name,
            point=order.point,
            valid=valid,
            failed=requests - valid,
            drive_ns=requests * 10_000_000,
            cpu=self.cpu,
            excluded="steal 12.0%" if number in self.stolen and order.point == Point(5) else "",
        )


class FakeRunner(SweepRunner):
    """Starts nothing."""

    def __init__(self, plan: SweepPlan, journal: list[Struct], *, begun: Begun | None = None, broken: str = "", valid: bool = True) -> None:
        self.told = FakeProgress()
        self.visits = FakeVisitor(valid)
        super().__init__(
            plan,
            cast(Any, SimpleNamespace(cores=split_cores())),
            cast(Any, None),
            cast(Any, SimpleNamespace(append=journal.append)),
            clock=BudgetClock(),
            progress=self.told,
            begun=begun or Begun(),
        )
        self._visitor = cast(Any, self.visits)
        self._broken = broken

    def _compare_answers(self) -> None:
        """They are equal."""

    @contextmanager
    def running(self, arm: Arm) -> Iterator[Any]:
        instance = SimpleNamespace(arm=arm, fastcgi="unix:/nonexistent/fake.sock", status="", broken=lambda: self._broken)
        yield instance, SimpleNamespace(facts=PLAIN, request_wall_ns=50_000_000, steady=True)


def rounds_of(journal: list[Struct]) -> list[int]:
    return [record.visit.round for record in journal if isinstance(record, Visited)]


def test_a_first_round_sizes_the_others_and_is_not_recorded_as_visits() -> None:
    journal: list[Struct] = []
    # A round takes 2 x (1 + 1 + 2 + hardly anything) x 1.1 = 8.8 s by the forecast.
    runner = FakeRunner(structs.replace(PLAN, budget_s=30.0), journal)
    runner.measure()
    assert [type(record) for record in journal[:3]] == [ArmSeen, ArmSeen, Lengths]
    lengths = journal[2]
    assert isinstance(lengths, Lengths)
    assert lengths.requests == {"five": (100, 100, 100), "ten": (100, 100, 100)}
    assert lengths.open_rate_per_s == {"five": pytest.approx(50.0), "ten": pytest.approx(50.0)}
    assert lengths.rounds == 3
    assert rounds_of(journal) == [1] * 6 + [2] * 6 + [3] * 6
    pilots = [entry for entry in runner.visits.orders if entry[1] == 0]
    assert len(pilots) == 4
    assert all(not order.point.open_share and not remember for _, _, order, remember in pilots)
    assert runner.told.phases[0].startswith("first round, not measured")


def test_a_generator_that_was_the_limit_gets_threads_and_the_first_round_is_made_again_on_them() -> None:
    journal: list[Struct] = []
    runner = FakeRunner(PLAN, journal)
    runner.visits.cpu = VisitCpu(php_ns=1, generator_ns=500_000_000, wall_ns=500_000_000)
    runner.bench = cast(Any, SimpleNamespace(cores=Cores((1,), (0, 2, 3))))
    lengths = runner._first_round()
    assert (lengths.threads, runner._threads) == (3, 3)
    assert len([entry for entry in runner.visits.orders if entry[1] == 0]) == 8
    assert runner.told.notes == ["the generator's thread was the limit: it drives on 3 from now on"]


def test_what_is_ahead_is_said_before_the_first_round_that_counts() -> None:
    runner = FakeRunner(structs.replace(PLAN, budget_s=30.0), [])
    runner.measure()
    assert runner.told.notes == ["3 rounds of all points, 10 s each at most: 30 s in all"]
    grown = FakeRunner(structs.replace(PLAN, budget_s=5.0, most_budget_s=100.0), [])
    grown.measure()
    assert grown.told.notes[0].startswith("3 rounds of all points, 10 s each, the fewest that an interval needs: 30 s in all")


def test_a_budget_that_grew_holds_when_a_sweep_goes_on() -> None:
    longer = structs.replace(LENGTHS, rounds=9, budget_s=1000.0)
    journal: list[Struct] = []
    FakeRunner(structs.replace(PLAN, budget_s=1e-9), journal, begun=Begun(5, longer)).measure()
    assert sorted(set(rounds_of(journal))) == [6, 7, 8, 9]


@pytest.mark.parametrize(
    ("stolen", "most_budget_s", "rounds"),
    [({2}, 100.0, 4), ({2, 4}, 100.0, 5), (set(range(1, 20)), 100.0, 5), ({2}, 0.0, 3), (set(), 100.0, 3)],
)
def test_excluded_visits_are_made_up_for_where_nobody_set_a_budget(stolen: set[int], most_budget_s: float, rounds: int) -> None:
    journal: list[Struct] = []
    plan = structs.replace(PLAN, budget_s=30.0, most_budget_s=most_budget_s)
    runner = FakeRunner(plan, journal, begun=Begun(0, structs.replace(LENGTHS, rounds=3, budget_s=30.0)))
    runner.visits.stolen = stolen
    runner.measure()
    assert sorted(set(rounds_of(journal))) == list(range(1, rounds + 1))
    said = "another round: visits were excluded, and without it some point has no interval"
    assert runner.told.notes == [said] * (rounds - 3)


def test_what_earlier_sessions_counted_counts() -> None:
    plan = structs.replace(PLAN, budget_s=30.0, most_budget_s=100.0)
    lengths = structs.replace(LENGTHS, rounds=3, budget_s=30.0)
    held = tuple(visit(number, name=of.name, point=point) for number in (1, 2, 3) for of in PLAN.arms for point in POINTS)
    journal: list[Struct] = []
    FakeRunner(plan, journal, begun=Begun(3, lengths, held)).measure()
    assert journal == []
    FakeRunner(plan, journal, begun=Begun(3, lengths, held[:-1])).measure()
    assert sorted(set(rounds_of(journal))) == [4]


@pytest.mark.parametrize(("rounds_before", "read"), [(2, [Point(5), Point(5)]), (3, [])])
def test_memory_is_read_in_every_other_round_after_the_largest_closed_point(rounds_before: int, read: list[Point]) -> None:
    runner = FakeRunner(PLAN, [], begun=Begun(rounds_before, structs.replace(LENGTHS, rounds=rounds_before + 1)))
    runner.measure()
    assert [order.point for _, _, order, remember in runner.visits.orders if remember] == read


def test_an_open_visit_has_its_arms_rate() -> None:
    runner = FakeRunner(PLAN, [], begun=Begun(3, LENGTHS))
    runner.measure()
    rates = {name: order.rate_per_s for name, _, order, _ in runner.visits.orders if order.point.open_share}
    assert rates == {"five": 50.0, "ten": 60.0}
    for name, _, order, _ in runner.visits.orders:
        assert (order.offsets_ns is not None) == (order.point.open_share > 0)
        if order.offsets_ns is not None:
            assert order.offsets_ns.size == order.sequence.size == 100
            assert order.offsets_ns[-1] <= 100 / LENGTHS.open_rate_per_s[name] * 1e9


def test_a_resumed_sweep_goes_on_with_the_round_that_is_due() -> None:
    journal: list[Struct] = []
    FakeRunner(PLAN, journal, begun=Begun(2, LENGTHS)).measure()
    assert rounds_of(journal) == [3] * 6 + [4] * 6
    assert not any(isinstance(record, Lengths | ArmSeen) for record in journal)


def test_both_halves_of_a_sweep_are_the_whole_one() -> None:
    whole, rest = FakeRunner(PLAN, [], begun=Begun(0, LENGTHS)), FakeRunner(PLAN, [], begun=Begun(2, LENGTHS))
    whole.measure()
    rest.measure()
    later = [entry for entry in whole.visits.orders if entry[1] > 2]
    assert [(name, number, order.point) for name, number, order, _ in later] == [
        (name, number, order.point) for name, number, order, _ in rest.visits.orders
    ]
    assert all((one[2].sequence == other[2].sequence).all() for one, other in zip(later, rest.visits.orders, strict=True))


def test_a_budget_that_is_spent_ends_the_rounds_after_the_promised_ones() -> None:
    journal: list[Struct] = []
    runner = FakeRunner(structs.replace(PLAN, budget_s=1e-9), journal, begun=Begun(0, structs.replace(LENGTHS, rounds=9)))
    runner.measure()
    assert sorted(set(rounds_of(journal))) == [1, 2, 3]
    assert runner.told.notes == ["the budget is spent after 3 of 9 rounds"]


def test_a_budget_that_is_too_small_is_refused_after_the_first_round() -> None:
    journal: list[Struct] = []
    with pytest.raises(BudgetTooSmall, match="fewer points or pools"):
        FakeRunner(structs.replace(PLAN, budget_s=5.0), journal).measure()
    assert rounds_of(journal) == []


def test_an_arm_that_answers_nothing_is_a_fault_that_says_where() -> None:
    with pytest.raises(ArmFailed, match=r"no request gets a valid answer at c = \d+: \d+ closed_early"):
        FakeRunner(PLAN, [], valid=False).measure()


def test_a_server_that_ended_is_a_fault() -> None:
    with pytest.raises(ArmFailed, match="php-fpm-1 was ended by SIGKILL"):
        FakeRunner(PLAN, [], begun=Begun(0, LENGTHS), broken="php-fpm-1 was ended by SIGKILL: (its log is empty)").measure()
