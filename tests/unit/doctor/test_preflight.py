"""The preflight's warnings, from facts of hosts that nobody has."""

import pytest
from msgspec import structs

from phpdyno.host.preflight import warnings_for
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
