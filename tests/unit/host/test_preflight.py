"""The preflight's warnings, from facts of hosts that nobody has."""

import pytest
from msgspec import structs

from phpdyno.host import preflight
from phpdyno.host.checkup.trials import StealTrial
from phpdyno.host.cores import Cores
from phpdyno.host.preflight import read_host, read_running, warnings_for
from phpdyno.model.facts import HostFacts

QUIET = HostFacts("6.0.0-made-up", "Made-up CPU", 4, 1 << 20, "tsc", "performance", "madvise", 0, 0.1, 0.0, "cgroup", (3,), (0, 1, 2))


def test_a_quiet_host_has_none() -> None:
    assert warnings_for(QUIET, 0.1) == ()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"cores": 1}, "only one core"),
        ({"steal_fraction": 0.03}, "expect wider intervals"),
        ({"steal_fraction": 0.2}, "do not count"),
        ({"load_1min": 3.0}, "something else is running"),
        ({"load_1min": 30.0, "running": 3.0}, "load average 30.0 on 4 cores: something else is running"),
        ({"governor": "performance, powersave"}, "the clock follows the load"),
        ({"cpu_source": "schedstat"}, "no permission to make cgroups"),
        ({"cpu_quota_cores": 1.5}, "a CPU quota of 1.50 of 4 cores"),
        ({"siblings": (1,)}, "hardware thread beside one of the helpers'"),
        ({"aslr": 0}, "randomisation is off"),
    ],
)
def test_each_limit_is_named_once(changed: dict[str, object], words: str) -> None:
    (warning,) = warnings_for(structs.replace(QUIET, **changed), 0.1)
    assert words in warning


def test_a_sibling_that_nobody_uses_is_no_reason() -> None:
    assert warnings_for(structs.replace(QUIET, siblings=(7,), cpu_quota_cores=4.0), 0.1) == ()


def test_a_load_of_a_minute_ago_is_no_reason() -> None:
    assert warnings_for(structs.replace(QUIET, load_1min=90.0, running=0.1), 0.1) == ()


def test_who_wants_a_core_now_is_read_without_ourselves() -> None:
    assert 0.0 <= read_running() < 1000.0


@pytest.mark.parametrize(("share", "fraction"), [(0.3, 0.3), (None, 0.0)])
def test_steal_is_that_of_the_measured_core_kept_busy(share: float | None, fraction: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    def fake_trial(cores: tuple[int, ...], seconds: float) -> StealTrial:
        asked.append(cores)
        return StealTrial(cores, seconds, share)

    monkeypatch.setattr(preflight, "try_steal", fake_trial)
    assert read_host(Cores((1,), (0,)), "cgroup", {}).steal_fraction == fraction
    assert asked == [(1,)]
