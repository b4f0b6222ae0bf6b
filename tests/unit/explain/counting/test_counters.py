"""The table of `perf stat -x,`, and what rounds of it say of a request."""

import pytest

from phpdyno.explain.counting.counters import CannotReadCounters, Count, counters_in, counts_in

TABLE = """\
# started on Thu Nov 26 03:38:04 2026

1250000,,instructions,4000000,100.00,1.25,insn per cycle
1000000,,cycles,4000000,80.00,,
<not supported>,,branch-misses,0,100.00,,
<not counted>,,iTLB-load-misses,0,0.00,,
"""


def test_counted_events_only() -> None:
    assert counts_in(TABLE) == {"instructions": Count(1_250_000.0, 1.0), "cycles": Count(1_000_000.0, 0.8)}
    assert counts_in("") == {}


def test_per_request_with_its_spread() -> None:
    rounds = [{"cycles": Count(value, share)} for value, share in ((100.0, 1.0), (140.0, 0.5), (110.0, 1.0))]
    found = counters_in("arm", rounds, ("instructions", "cycles"), 10)
    (cycles,) = found.readings
    assert (cycles.event, cycles.rounds, cycles.median, cycles.lowest, cycles.highest) == ("cycles", (10.0, 14.0, 11.0), 11.0, 10.0, 14.0)
    assert cycles.running == 0.5
    assert found.absent == ("instructions",)
    assert found.requests == 30


def test_a_machine_that_counts_nothing_is_one_line() -> None:
    with pytest.raises(CannotReadCounters, match="no hardware counters") as caught:
        counters_in("arm", [{}, {}], ("cycles",), 10)
    assert "\n" not in str(caught.value)
