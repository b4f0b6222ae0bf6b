"""What fits together in an arm, and beside each other in memory."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from phpdyno.commands.tune.measurer import Bases, Maker, TunedApp, TuneMeasurer
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import MAX_LAG_OF_CPU, AppSource
from phpdyno.model.runs.tune import Goal, TuneRequest
from phpdyno.model.workload import Target, Workload
from phpdyno.tuning.factors import Candidate
from tests.support.made_up.facts import OPCACHE, PLAIN

GIB = 1 << 20
"""In KiB."""


class FakeReader:
    """Lays settings upon settings."""

    def on_top(self, base: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
        return {**base, **changes}

    def arm(self, name: str, settings: dict[str, str], changed: dict[str, str]) -> Arm:
        return Arm(name, PhpBuild("/usr/sbin/php-fpm8.2", "8.2.29"), settings, changed)


def measurer(goal: Goal = "throughput", memory_kib: int = 16 * GIB, workers: int = 4) -> TuneMeasurer:
    bases = Bases({"pool.pm.max_children": "1"}, {"pool.pm.max_children": str(workers)})
    reader: Any = FakeReader()
    anything: Any = None
    app = TunedApp("hello", "1", Workload((Target("/"),)))
    return TuneMeasurer(
        TuneRequest(source=AppSource("hello"), goal=goal), app, Maker(reader, bases), anything, anything, memory_kib=memory_kib
    )


def test_kept_connections_and_few_workers_cannot_be_together() -> None:
    keep, two, eight = (
        Candidate("keep", {"web.fastcgi_keepalive": "3"}),
        Candidate("two", {"pool.pm.max_children": "2"}),
        Candidate("eight", {"pool.pm.max_children": "8"}),
    )
    clash = measurer().clash("throughput")
    assert clash(keep, two)
    assert clash(keep, Candidate("web", {"web.workers": "2"}))
    assert not clash(keep, eight)
    assert not clash(two, Candidate("tcp", {"web.socket": "tcp"}))


def test_cpu_has_a_limit_of_lag_of_its_own() -> None:
    made = measurer("cpu").plan("race", (), metric="cpu", budget_s=60.0, control=Arm("control", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.29")))
    assert made.limits_of("cpu").lag == MAX_LAG_OF_CPU


def test_an_instance_is_reckoned_with_what_the_control_holds() -> None:
    facts = structs.replace(PLAIN, opcache=structs.replace(OPCACHE, used_bytes=64 << 20, free_bytes=64 << 20, wasted_bytes=0))
    one = measurer("cpu")
    before = one.most_arms
    one.make_room_for(facts, 10 * 1024)
    assert one.most_arms == before
    many = measurer("throughput", workers=200)
    many.make_room_for(facts, 10 * 1024)
    assert many.most_arms < before / 3
    assert measurer(memory_kib=0).most_arms == 2
