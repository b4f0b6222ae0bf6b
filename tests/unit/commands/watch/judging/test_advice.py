"""A range of workers from what was seen: the cases from the field that concern watching, in
form."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.commands.watch.found import Advice
from phpdyno.commands.watch.judging.advice import advise, crowd, faults_of_file
from phpdyno.commands.watch.judging.history import SeenInterval

SEEN: dict[str, Any] = {
    **{"watched_s": 3600.0, "requests": 100_000, "busiest": 4.0, "quietest": 1.0, "peak": 7, "cpu_per_busy": 0.25, "blocked": 0.7},
    **{"private_kib": 26 << 10, "shared_kib": 60 << 10, "room_kib": 14 << 20, "room_is": "this host's RAM", "cores": 4.0},
    **{"max_children": 20, "configured": 20, "pm": "static"},
}


def told(directives: dict[str, str] | None = None, *, process_max: int = 0, **changed: Any) -> Advice:
    return advise("www", 100, SeenInterval(**{**SEEN, **changed}), directives or {}, process_max=process_max)


def of(advice: Advice) -> tuple[int | None, int | None]:
    return advice.low, advice.high


def test_a_pool_with_room_gets_a_range_around_its_load_and_says_what_it_rests_on() -> None:
    advice = told()
    assert of(advice) == (8, 9)
    assert advice.confidence == "medium"
    assert advice.why_confidence == "less than a day was seen"
    assert advice.reasons[0] == "the busiest minute kept 4.0 workers in use, 7 at once at most"
    assert any("16 fill 4 cores" in reason for reason in advice.reasons)
    assert any("PSS" in reason for reason in advice.reasons)


def test_case_1_full_cores_never_ask_for_more_workers() -> None:
    """fpm-tune 14: two CPUs, CPU-bound, 64 clients: 2 workers gave the most, 12 the least."""
    for running in (4, 6, 8, 12):
        advice = told(
            cores=2.0, cpu_per_busy=0.99, full=1.0, busiest=66.0, peak=64, saturated=1.0, max_children=running, configured=running
        )
        assert of(advice) == (2, 3)
        assert any("no number of workers helps" in reason for reason in advice.reasons)


def test_case_2_all_workers_wait_while_cores_are_free() -> None:
    """gc-digital-talent 16126: p95 of 15 s at 30 % CPU, 26 MB a worker, 16 GB: more workers, as far
    as was seen."""
    advice = told(busiest=35.0, peak=60, saturated=0.9, max_children=20, cpu_per_busy=0.06, full=0.0)
    assert of(advice) == (40, 40)
    assert advice.confidence == "low"
    assert any("no more than 40 are named; watch again with them" in reason for reason in advice.reasons)


def test_case_3_a_cgroup_caps_what_the_load_asks_for() -> None:
    """s2i-php 416: 50 workers of 250 MB in a pod of 3 GB."""
    advice = told(
        busiest=30.0, peak=50, private_kib=250 << 10, shared_kib=100 << 10, room_kib=3 << 20, room_is="its cgroup's memory limit",
        max_children=50, configured=50, cpu_per_busy=0.05,
    )  # fmt: skip
    assert advice.high == int((0.9 * 3072 - 100) / 250)
    assert any("its cgroup's memory limit has room for 10" in reason for reason in advice.reasons)


def test_case_4_what_is_shared_counts_once() -> None:
    """apcu 312: RSS 230 MB, of which 211 are shared: 32 workers are 0.8 GB, not 7.4."""
    advice = told(
        busiest=20.0,
        peak=32,
        private_kib=19 << 10,
        shared_kib=211 << 10,
        room_kib=1 << 20,
        max_children=32,
        configured=32,
        cpu_per_busy=0.1,
    )
    assert advice.low == math.ceil(20 + 2 * math.sqrt(20))
    assert advice.high == int((0.9 * 1024 - 211) / 19), "by RSS four would be the most"


def test_case_5_many_pools_share_one_ram() -> None:
    """virtualmin-gpl 954: 60 hosts with 8 workers each come to some 50 GB."""
    pools = [
        (f"site{number}", SeenInterval(**{**SEEN, "max_children": 8, "private_kib": 100 << 10, "shared_kib": 20 << 10}))
        for number in range(60)
    ]
    words = crowd(pools, 16 << 20)
    assert words.startswith("60 pools may start 480 workers, 48.0 GiB (PSS) where this host has 16.0 GiB of RAM")
    assert crowd(pools[:10], 16 << 20) == ""
    assert crowd([], 16 << 20) == ""
    assert crowd(pools, None) == ""


def test_case_6_a_file_with_wrong_spares_is_told_before_php_fpm_refuses_it() -> None:
    """nextcloud/vm 943: max_spare 77 above max_children 66."""
    file = {"pm": "dynamic", "pm.max_children": "66", "pm.start_servers": "20", "pm.min_spare_servers": "20", "pm.max_spare_servers": "77"}
    assert list(faults_of_file(file)) == [
        "pm.max_spare_servers 77 is above pm.max_children 66: php-fpm will refuse to start with this file"
    ]
    assert told(file, pm="dynamic").warnings == tuple(faults_of_file(file))
    turned = {**file, "pm.max_spare_servers": "10"}
    assert [line.partition(":")[0] for line in faults_of_file(turned)] == [
        "pm.min_spare_servers 20 is above pm.max_spare_servers 10",
        "pm.start_servers 20 is not between 20 and 10",
    ]
    assert list(faults_of_file({**file, "pm.max_children": "90"})) == []
    assert list(faults_of_file({**file, "pm": "static"})) == []


def test_case_7_a_spare_of_one_starts_one_worker_a_second() -> None:
    """Wallos 63: Debian's own file."""
    file = {"pm": "dynamic", "pm.max_children": "5", "pm.start_servers": "2", "pm.min_spare_servers": "1", "pm.max_spare_servers": "3"}
    (warning,) = faults_of_file(file)
    assert "starts one worker a second" in warning
    assert "4 s from one to 5" in warning


def test_case_9_the_running_value_counts_and_the_files_is_told() -> None:
    """gigadb-website 1784: 20 configured, 5 in effect."""
    advice = told(max_children=5, configured=20, saturated=0.5, busiest=6.0, peak=8)
    assert advice.high == 10, "twice what runs, not twice what is written"
    assert any(warning.startswith("its file says pm.max_children 20, 5 are in effect") for warning in advice.warnings)
    assert not any("in effect" in warning for warning in told().warnings)
    assert any("pm = dynamic, static is in effect" in warning for warning in told({"pm": "dynamic"}).warnings)


def test_case_10_more_workers_are_more_connections_to_the_database() -> None:
    """dexonline 854: 100 to 200 workers against max_connections."""
    advice = told(max_children=100, configured=100, saturated=0.9, busiest=120.0, peak=150, cpu_per_busy=0.01)
    assert any("the database must allow 200 from this pool (max_connections)" in warning for warning in advice.warnings)
    assert not any("max_connections" in warning for warning in told().warnings)


def test_case_11_stuck_workers_are_no_reason_for_more() -> None:
    """warmshowers 562: 75 workers stuck, 14 to 20 are usual."""
    advice = told(busiest=17.0, peak=20, stuck=60.0, saturated=0.9, max_children=75, configured=75, cpu_per_busy=0.05)
    assert of(advice) == (26, 26)
    assert any("held by requests that do not end" in reason for reason in advice.reasons)
    assert any("request_terminate_timeout" in warning for warning in advice.warnings)


def test_case_12_looping_code_on_full_cores() -> None:
    """docker-nextcloud 539: 120 workers, 28 cores, load 117."""
    advice = told(cores=28.0, cpu_per_busy=1.0, full=0.95, busiest=117.0, peak=120, saturated=0.6, max_children=120, configured=120)
    assert of(advice) == (28, 35)


def test_cores_that_others_fill_are_no_reason_for_more_workers_either() -> None:
    advice = told(full=0.5, full_by_others=True, busiest=30.0, peak=60, max_children=20)
    assert of(advice) == (20, 20)
    assert any("mostly by others than this pool" in reason for reason in advice.reasons)


def test_process_max_bounds_the_range() -> None:
    advice = told(process_max=6)
    assert of(advice) == (6, 6)
    assert "process.max allows 6 in all pools of its master" in advice.reasons


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"busiest": None, "peak": None}, "how many workers are busy could not be read"),
        ({"requests": 0, "busiest": 0.0, "peak": 0}, "no request was seen: an idle pool tells nothing"),
    ],
)
def test_where_nothing_was_seen_nothing_is_named(changed: dict[str, Any], reason: str) -> None:
    advice = told(**changed)
    assert of(advice) == (None, None)
    assert advice.reasons == (reason,)
    assert advice.confidence == "low"


@pytest.mark.parametrize(
    ("changed", "confidence"),
    [
        ({}, "medium"),
        ({"watched_s": 300.0}, "low"),
        ({"requests": 900}, "low"),
        ({"saturated": 0.3}, "low"),
        ({"private_kib": None}, "low"),
        ({"watched_s": 90_000.0}, "high"),
        ({"watched_s": 90_000.0, "quietest": 3.0}, "medium"),
    ],
)
def test_the_confidence_follows_the_loads_that_were_seen(changed: dict[str, Any], confidence: str) -> None:
    advice = told(**changed)
    assert advice.confidence == confidence
    assert bool(advice.why_confidence) == (confidence != "high")


def test_an_overflow_and_swap_are_warned_of() -> None:
    warnings = told(overflows=3, queue_limit=511, swapped=True).warnings
    assert any("the queue of 511 overflowed" in warning for warning in warnings)
    assert any("reads from swap" in warning for warning in warnings)


SHARE = st.floats(0.0, 1.0)


LOADS = st.fixed_dictionaries(
    {
        "busiest": st.floats(0.0, 500.0),
        "peak": st.integers(0, 1000),
        "saturated": SHARE,
        "full": SHARE,
        "full_by_others": st.booleans(),
        "cpu_per_busy": st.none() | st.floats(0.001, 1.0),
        "private_kib": st.none() | st.floats(100.0, 1e6),
        "room_kib": st.none() | st.floats(1e3, 1e8),
        "cores": st.floats(0.1, 256.0),
        "max_children": st.none() | st.integers(1, 2000),
        "stuck": st.floats(0.0, 100.0),
    }
)


@given(seen=LOADS, process_max=st.integers(0, 500))
def test_a_range_holds_whatever_was_seen(seen: dict[str, Any], process_max: int) -> None:
    advice = told(process_max=process_max, **seen)
    most = seen["max_children"]
    assert advice.low is not None
    assert advice.high is not None
    assert 1 <= advice.low <= advice.high
    if seen["full"] >= 0.2 and most:
        assert advice.high <= most, "full cores never ask for more"
    if seen["private_kib"] and seen["room_kib"] is not None:
        assert advice.high == 1 or advice.high * seen["private_kib"] <= seen["room_kib"]
    if process_max:
        assert advice.high <= process_max
    if seen["saturated"] >= 0.05 and most and seen["full"] < 0.2:
        assert advice.high <= 2 * most
