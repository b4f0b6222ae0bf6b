"""From what single starts showed to figures, differences and their spread."""

import pytest

from phpdyno.errors import DynoError
from phpdyno.explain.assembling import GatheredValues, names_of, sections_of
from phpdyno.explain.counting.userstat import stat_in
from phpdyno.explain.patterns import vanished
from phpdyno.explain.quantities import ALL_CPU, AT_CLIENT, IN_WORKER, map_values, opcache_values, stat_unit, stat_values, wait_values
from phpdyno.model.facts import JitFacts, OpcacheFacts
from phpdyno.model.inside.explained import ON_CPU, Figure, Reading
from phpdyno.model.inside.memory_map import Mapped
from phpdyno.model.inside.waits import Wait, WaitsSeen
from phpdyno.stats.spread import spread_of


def gathered(*starts: tuple[dict[str, float], ...], absent_is_zero: bool = True) -> GatheredValues:
    section = GatheredValues("cpu", "CPU", "a test", wholes=frozenset({ALL_CPU}), absent_is_zero=absent_is_zero)
    for number, start in enumerate(starts):
        for values in start:
            section.take(number, values)
    return section


def test_two_arms_have_medians_ranges_and_the_mean_of_paired_differences() -> None:
    (section,) = sections_of([gathered(({"PHP": 1.0}, {"PHP": 2.0}), ({"PHP": 3.0}, {"PHP": 5.0}), ({"PHP": 2.0}, {"PHP": 3.0}))], 2)
    (figure,) = section.figures
    assert figure.arms == (Reading(2.0, 1.0, 3.0, 3), Reading(3.0, 2.0, 5.0, 3))
    assert figure.difference == pytest.approx(4 / 3)
    assert figure.spread == pytest.approx(spread_of([1.0, 2.0, 1.0], 1))
    assert not figure.clear


def test_what_is_the_same_at_every_start_has_no_spread_so_that_one_call_more_counts() -> None:
    (section,) = sections_of([gathered(*[({"read": 7.0}, {"read": 8.0})] * 4)], 2)
    (figure,) = section.figures
    assert (figure.difference, figure.spread, figure.clear) == (1.0, 0.0, True)


def test_one_arm_has_no_difference() -> None:
    (section,) = sections_of([gathered(({"PHP": 1.0},), ({"PHP": 2.0},))], 1)
    assert section.figures == (Figure("PHP", "ms", (Reading(1.5, 1.0, 2.0, 2),)),)


def test_what_was_not_seen_is_none_of_it_or_nothing() -> None:
    (zero,) = sections_of([gathered(({"PHP": 1.0, "sleep": 1.0}, {"PHP": 1.0}))], 2)
    assert zero.figures[1].arms[1] == Reading(0.0, 0.0, 0.0, 1)
    (nothing,) = sections_of([gathered(({"scripts": 1.0}, {}), absent_is_zero=False)], 2)
    assert nothing.figures[0].arms[1] is None
    assert nothing.figures[0].difference is None


def test_a_section_that_could_not_be_read_has_no_figures_and_says_why() -> None:
    section = gathered(({"PHP": 1.0}, {"PHP": 2.0}))
    section.unread = "forbidden"
    (made,) = sections_of([section], 2)
    assert (made.figures, made.unread) == ((), "forbidden")


def test_wholes_stand_behind_their_parts() -> None:
    assert names_of(gathered(({ALL_CPU: 1.0, "PHP": 1.0},), ({"database": 1.0},))) == ["PHP", "database", ALL_CPU]


def test_more_intervals_that_hold_together_are_wider() -> None:
    differences = [1.0, 1.1, 0.9, 1.0]
    alone, together = spread_of(differences, 1), spread_of(differences, 40)
    assert alone is not None
    assert together is not None
    assert together > alone > 0
    assert spread_of([1.0], 1) is None


def test_waits_fill_what_was_neither_run_nor_queued() -> None:
    """100 ms of one worker: 40 on a CPU, 10 queued; of 50 samples asleep 30 were with the database.
    They missed that it ran."""
    seen = WaitsSeen(50, 100_000_000, 40_000_000, 10_000_000, 0, {Wait("database", "MariaDB"): 30, Wait("idle"): 20})
    values = wait_values(seen, 10, 8e6, idle_on_web=False)
    assert values[ON_CPU] == pytest.approx(4.0)
    assert values["database (MariaDB)"] == pytest.approx(3.0)
    assert values[IN_WORKER] == pytest.approx(8.0)
    assert values[AT_CLIENT] == 8.0
    assert "idle" not in values


def test_a_kept_connection_is_waited_on_between_requests() -> None:
    seen = WaitsSeen(10, 1_000_000, 0, 0, 0, {Wait("web"): 10})
    assert wait_values(seen, 1, 0.0, idle_on_web=True)[IN_WORKER] == 0.0
    assert wait_values(seen, 1, 0.0, idle_on_web=False)[IN_WORKER] == pytest.approx(1.0)


def test_a_mariadb_s_row() -> None:
    stat = stat_in("0.5\t0.25\t1000\t200\t20\t4\t6\t10\n")
    assert stat_values("MariaDB", stat, 10) == {
        "MariaDB: busy": 50.0,
        "MariaDB: CPU": 25.0,
        "MariaDB: rows read": 100.0,
        "MariaDB: rows sent": 20.0,
        "MariaDB: commands": 3.0,
        "MariaDB: connections": 1.0,
    }
    assert stat_unit("MariaDB: busy") == "ms"
    assert stat_unit("shop: rows read") == "count"
    with pytest.raises(DynoError, match="not understood"):
        stat_in("NULL\n")


def test_memory_in_parts_and_as_a_whole() -> None:
    values = map_values({"shared": Mapped(100, 20, 400), "heap": Mapped(50, 50, 50)})
    assert values["shared (opcache, JIT, APCu)"] == 100
    assert (values["all of it (PSS)"], values["private to this worker"], values["resident (RSS)"]) == (150, 70, 450)


def test_opcache_s_state() -> None:
    facts = OpcacheFacts(
        30, 10, 5, 2048, 1024, 0, 0, full=False, strings_bytes=2048, strings_free_bytes=1024, jit=JitFacts(True, True, 5, 4096, 1024)
    )
    values = opcache_values(facts)
    assert values["hit rate"] == 75.0
    assert values["interned strings used"] == 1.0
    assert values["JIT buffer used"] == 3.0
    assert opcache_values(None) == {}


def calls(name: str, before: float, after: float) -> Figure:
    return Figure(name, "calls", (Reading(before, before, before, 4), Reading(after, after, after, 4)), after - before, 0.0)


def test_calls_that_load_scripts_and_vanish_are_noted() -> None:
    figures = [calls("openat", 3, 0.02), calls("fstat", 3, 0), calls("mmap", 3, 0), calls("write", 2, 0), calls("read", 5, 5)]
    (note,) = vanished(figures, ("off", "on"))
    assert note.startswith("(nearly) gone in on: openat 3, fstat 3, mmap 3 calls per request")
    assert vanished(figures, ("off",)) == ()
    assert vanished([calls("write", 2, 0), calls("openat", 3, 2)], ("off", "on")) == ()
