"""Requests per second that were limited beside PHP, from made-up readings on 2, 8 and 16 cores;
nothing was measured."""

from collections.abc import Iterable

import pytest
from msgspec import structs

from phpdyno.commands.compare.render.page import render_page
from phpdyno.commands.compare.view.document import document
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.experiment.comparison.judging.room import BESIDE_PHP
from phpdyno.journal.records import Concluded, Planned, Preflight, Record
from phpdyno.model.arm import APACHE
from phpdyno.model.observation import Cost
from phpdyno.model.verdict import Verdict
from tests.support.made_up.journals import arm, blocks, opening, preflight
from tests.support.made_up.journals import cost as php_cost
from tests.support.made_up.journals import plan as journal_plan
from tests.support.made_up.protocol import STATIC, loaded_blocks, loaded_cost
from tests.unit.commands.compare.render.test_page import Page
from tests.unit.commands.compare.render.test_terminal import shown
from tests.unit.commands.compare.view.test_throughput import loaded_plan

SECOND = 1_000_000_000
APACHED = arm("apache", web__server=APACHE)


def cost(cores: int, *, php: float, web: float = 0.3, generator: float | None = 0.45, database: float = 0.18) -> Cost:
    """Two seconds of driving: PHP's share of all cores but one, and what the others had of that
    one."""
    span = 2 * SECOND
    return structs.replace(
        loaded_cost(900.0),
        wall_ns=span,
        drive_ns=span,
        php_cpu_ns=round(php * span * (cores - 1)),
        web_cpu_ns=round(web * span),
        database_cpu_ns=round(database * span),
        generator_ns=None if generator is None else round(generator * span),
    )


def run(cores: int, control: Cost, treated: Cost | None = None, *, steal: float = 0.0) -> list[Record]:
    """A comparison of throughput on so many cores, of which the first is not PHP's; each block has
    these costs."""
    made = loaded_plan(STATIC)
    host = structs.replace(preflight().host, cores=cores, measured_cores=tuple(range(1, cores)), helper_cores=(0,))
    start = [Preflight(host, ()) if isinstance(record, Preflight) else record for record in opening(made)]
    done = [
        structs.replace(
            block,
            observations=tuple(
                structs.replace(seen, control=control, treated=treated or control, steal_fraction=steal) for seen in block.observations
            ),
        )
        for block in loaded_blocks({STATIC.name: 1.0}, 14)
    ]
    return [*start, *done]


def warnings(records: Iterable[Record]) -> tuple[str, ...]:
    """Of a row, and why it has no verdict where its blocks give it none."""
    (row,) = view_of(records, "run").rows
    return (row.reason, *row.warnings) if row.kind == "invalid" else row.warnings


@pytest.mark.parametrize(
    ("cores", "share", "next_step"),
    [
        (2, "not by PHP (41 %)", "or measure on a host with more cores"),
        (8, "not by PHP (41 %)", "or leave the others 4 cores (--concurrency 4)"),
        (16, "not by PHP (41 %)", "or leave the others 8 cores (--concurrency 8)"),
    ],
)
def test_the_one_core_of_all_others_was_full(cores: int, share: str, next_step: str) -> None:
    records = run(cores, cost(cores, php=0.41))
    (warning,) = warnings(records)
    assert warning == (
        f"requests per second were limited by the core of nginx, MariaDB and the generator (93 % busy), {share}: a difference in PHP may "
        f"not show in them; compare CPU per request (--metric cpu), {next_step}"
    )
    assert warning in shown(records, 1000)
    view = view_of(records, "run")
    assert warning in Page(render_page(view)).text
    (row,) = document(view)["rows"]
    assert (row["kind"], row["reason"], row["ratio"]) == ("invalid", warning, None)


@pytest.mark.parametrize("cores", [2, 8, 16])
@pytest.mark.parametrize(
    "told",
    [
        {"php": 0.97},  # both are full: PHP is
        {"php": 0.97, "web": 0.2, "generator": 0.2},
        {"php": 0.41, "web": 0.2, "generator": 0.2},  # nothing is full
        {"php": 0.41, "generator": None},  # not kept by earlier versions
    ],
)
def test_where_php_is_the_limit_or_nothing_is_known_to_be_nothing_is_said(cores: int, told: dict[str, float]) -> None:
    assert warnings(run(cores, cost(cores, **told))) == ()


@pytest.mark.parametrize("cores", [2, 8, 16])
def test_an_arm_that_meets_the_limit_alone_is_named(cores: int) -> None:
    free, full = cost(cores, php=0.6, generator=0.3), cost(cores, php=0.41)
    alone, control = run(cores, free, full), run(cores, full, free)
    assert warnings(alone)[0].startswith("requests per second of the treatment were limited by the core of nginx, MariaDB")
    assert warnings(control)[0].startswith("requests per second of the control were limited by")
    # A treatment that got as far as the limit did get there; a control that met it says nothing.
    assert [view_of(records, "run").rows[0].kind == "invalid" for records in (alone, control)] == [False, True]


@pytest.mark.parametrize("looked", [False, True])
def test_a_verdict_that_was_recorded_before_this_was_looked_at_has_its_warning(looked: bool) -> None:
    verdict = Verdict(STATIC.name, "inconclusive", reason="all planned blocks were measured", metric="throughput")
    alone = [*run(8, cost(8, php=0.6, generator=0.3), cost(8, php=0.41)), Concluded(verdict, beside_php=looked)]
    said = [each for each in warnings(alone) if "of the treatment were limited by" in each]
    assert len(said) == (0 if looked else 1)


def test_what_was_stolen_from_phps_cores_is_no_room() -> None:
    assert warnings(run(2, cost(2, php=0.70), steal=0.25)) == ()
    assert warnings(run(2, cost(2, php=0.70), steal=0.10))


def test_one_thread_may_be_full_beside_idle_cores() -> None:
    records = run(8, cost(8, php=0.41, web=0.95, generator=0.3, database=0.1))
    wide = [
        structs.replace(record, host=structs.replace(record.host, measured_cores=(4, 5, 6, 7), helper_cores=(0, 1, 2, 3)))
        if isinstance(record, Preflight)
        else record
        for record in records
    ]
    (warning,) = warnings(wide)
    assert "were limited by nginx's process (95 % of a core), not by PHP (72 %)" in warning
    assert "--concurrency" not in warning


@pytest.mark.parametrize(("cores", "had"), [(2, "the one core has"), (8, "the 7 cores have")])
def test_a_php_that_had_more_than_its_cores_is_told(cores: int, had: str) -> None:
    home, away = cost(cores, php=0.98, web=0.1, generator=0.1), cost(cores, php=1.6, web=0.1, generator=0.1)
    said = (
        f"in 14 of 14 blocks PHP used more CPU than {had} that it is measured on: processes of it ran elsewhere, and the ratio of such a "
        "block is not that of the arms; measure again"
    )
    assert warnings(run(cores, home, away)) == (said,)
    assert warnings(run(cores, away, home)) == (said,)
    assert warnings(run(cores, home)) == ()


@pytest.mark.parametrize(
    ("costs_ms", "said"),
    [
        ([1.37, 1.35, 0.93, *[0.19] * 9], "fell from 1.360 to 0.190 ms"),
        ([0.2, 0.2, 0.2, *[0.4] * 9], "rose from 0.200 to 0.400 ms"),
        # Every third block has the dear page: no state, a mix.
        ([0.2, 0.2, *[0.9, 0.2, 0.2] * 4], ""),
        ([0.2, 0.22, 0.26, 0.24, *[0.25] * 8], ""),
        ([0.2, 0.2, 0.2, 0.2, 0.2, 0.9, *[0.2] * 6], ""),
        ([1.37, 0.19, 0.19], ""),
    ],
)
def test_an_app_that_was_not_in_one_state_is_told(costs_ms: list[float], said: str) -> None:
    jit = arm("jit", ini__opcache__jit="tracing")
    done = blocks({jit.name: 1.1}, len(costs_ms), sigma=0.002)
    moved = [
        structs.replace(block, observations=tuple(structs.replace(seen, control=php_cost(ms)) for seen in block.observations))
        for block, ms in zip(done, costs_ms, strict=True)
    ]
    (row,) = view_of([*opening(journal_plan(jit)), *moved], "run").rows
    told = [each for each in row.warnings if "while it was measured (a cache" in each]
    assert (len(told) == 1 and said in told[0]) if said else told == []


def test_nginx_on_phps_cores_is_no_neighbour() -> None:
    records = run(2, cost(2, php=0.41))
    beside_apache = [
        structs.replace(record, plan=loaded_plan(STATIC, APACHED)) if isinstance(record, Planned) else record for record in records
    ]
    static = next(row for row in view_of(beside_apache, "run").rows if row.name == STATIC.name)
    assert static.warnings == ()


def test_nothing_is_said_of_cpu_or_without_a_host() -> None:
    records = [record for record in run(2, cost(2, php=0.41)) if not isinstance(record, Preflight)]
    assert warnings(records) == ()
    assert "php" not in BESIDE_PHP


def test_the_page_claims_no_saturation() -> None:
    assert "saturation" not in Page(render_page(view_of(run(2, cost(2, php=0.41)), "run"))).text
