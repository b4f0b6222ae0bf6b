import io

import msgspec
import pytest
from rich.console import Console

from phpdyno.commands.measure.view.shape import Estimate
from phpdyno.commands.size.answer import size_answer
from phpdyno.commands.size.decision.costs import target_costs
from phpdyno.commands.size.decision.settings import SOMAXCONN, pool_settings
from phpdyno.commands.size.found import ManagerRow, SizeFound
from phpdyno.commands.size.measuring.pools import BACKLOG
from phpdyno.commands.size.record import ManagerFailed, PoolMeasured, SizeConcluded, SizeHost, SizeRun, Stopped, TargetsChosen
from phpdyno.commands.size.render.page import render_size
from phpdyno.commands.size.render.terminal import size_summary
from phpdyno.commands.size.result import _agree, found_of
from phpdyno.commands.size.words import mib, ms, part, span
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.made_up import sizes


def found(rate: sizes.Rate, **ask: object) -> SizeFound:
    made = found_of(sizes.whole(rate, ask=sizes.asked(**ask)), "20260101-000000-size-hello")  # type: ignore[arg-type]
    assert made is not None
    return made


@pytest.fixture(scope="module")
def waiting() -> SizeFound:
    return found(sizes.sleeping())


def test_there_is_nothing_to_tell_before_there_is_a_recommendation() -> None:
    assert found_of(sizes.begun(sizes.limits(), *sizes.searched(sizes.cpu_bound())), "run") is None


def test_the_answer_is_one_line_with_its_figures(waiting: SizeFound) -> None:
    head, _, rest = waiting.answer.partition(": ")
    assert head == f"{waiting.recommended.workers} workers"
    assert "of the best throughput" in rest or "the best throughput" in rest
    assert "p99" in rest
    assert "MiB" in rest
    assert "2 workers (cores × 2): 96.0 to 96.1 % fewer requests/s" in rest


def test_full_cores_are_named_and_no_workers_promised() -> None:
    told = found(sizes.cpu_bound(cores=2))
    assert told.recommended.workers == 2
    assert "that is cores × 2" in told.answer
    assert any("no number of workers helps" in said for said in told.sentences)


def test_what_was_asked_stands_before_throughput() -> None:
    told = found(sizes.sleeping(), rate_per_s=100.0, p99_s=0.08)
    assert told.answer.split(": ")[1].startswith("p99 ")
    assert "of the best throughput" not in told.answer
    assert told.recommended.meets is True
    assert any("held when it was measured" in said for said in told.sentences)


def test_failed_requests_are_told_and_hold_nothing() -> None:
    run = sizes.whole(sizes.sleeping(), ask=sizes.asked(rate_per_s=100.0, p99_s=0.2))
    told = found_of(run, "run")
    assert told is not None
    assert told.recommended.meets is True

    def failing(record: object) -> object:
        if not isinstance(record, PoolMeasured) or record.stage != "confirm":
            return record
        visits = tuple(msgspec.structs.replace(each, valid=each.valid * 7 // 10, kinds={"wrong_status (502)": 1}) for each in record.visits)
        return msgspec.structs.replace(record, visits=visits)

    told = found_of(SizeRun(run.header, tuple(map(failing, run.records))), "run")  # type: ignore[arg-type]
    assert told is not None
    assert told.recommended.meets is False
    assert told.recommended.failed == pytest.approx(0.3, abs=0.01)
    assert any(said.startswith("Requests without a valid answer: ") for said in told.sentences)
    assert "did not hold" in told.pool.reasons["pm.max_children"]


def test_what_has_no_upper_end_agrees_with_nothing() -> None:
    assert _agree(Estimate(400.0, 380.0, 420.0, 3), Estimate(40.0, 20.0, None, 0)) is None
    assert _agree(Estimate(41.0, 40.0, 42.0, 3), Estimate(40.0, 20.0, None, 0)) is True
    assert _agree(Estimate(400.0, 380.0, 420.0, 3), Estimate(40.0, 20.0, 60.0, 0)) is False
    assert span(Estimate(40.0, 20.0, None, 0)) == "40 ms (20 ms or more)"


def test_what_was_left_out_and_stopped_is_told() -> None:
    run = sizes.added(sizes.whole(sizes.cpu_bound()), Stopped("search", 64, 90 << 10), TargetsChosen(("/",), 42))
    run = sizes.added(run, ManagerFailed("ondemand", "it did not start"))
    told = found_of(run, "run")
    assert told is not None
    said = " ".join(told.sentences)
    assert "A pool of 64 workers was stopped: only 90 MiB of memory were left." in said
    assert "42 targets were not looked at by themselves" in said


def test_a_database_on_the_generators_core_is_told() -> None:
    run = sizes.whole(sizes.cpu_bound())

    def asking(record: object, share: float) -> object:
        if isinstance(record, SizeHost):
            return msgspec.structs.replace(record, host=msgspec.structs.replace(record.host, helper_cores=(0,)))
        if not isinstance(record, PoolMeasured) or record.stage != "confirm":
            return record
        visits = tuple(
            msgspec.structs.replace(each, cpu=msgspec.structs.replace(each.cpu, database_ns=round(share * each.cpu.wall_ns)))
            for each in record.visits
        )
        return msgspec.structs.replace(record, visits=visits)

    for share, told in ((0.6, True), (0.1, False)):
        found = found_of(SizeRun(run.header, tuple(asking(each, share) for each in run.records)), "run")  # type: ignore[misc]
        assert found is not None
        assert any(said.startswith("The database shares a core with the load generator") for said in found.sentences) is told


def test_a_backlog_is_never_made_less() -> None:
    pool = found(sizes.cpu_bound()).recommended
    assert pool_settings(pool, (), (), None, backlog="4096").settings["listen.backlog"] == "4096"
    assert pool_settings(pool, (), (), SizeConcluded(None, 1024), backlog="4096").kernel == {SOMAXCONN: "4096"}
    assert pool_settings(pool, (), (), None, backlog="-1").settings["listen.backlog"] == str(BACKLOG)


def test_what_cannot_be_held_is_said() -> None:
    told = found(sizes.cpu_bound(cores=1), rate_per_s=500.0, p99_s=0.1)
    assert told.recommended.reason == "nothing"
    assert any(said.startswith("No number of workers holds 500 requests/s") for said in told.sentences)


def test_a_response_time_without_a_rate_tells_up_to_which_rate_it_holds() -> None:
    told = found(sizes.sleeping(), p99_s=0.1)
    assert told.recommended.holds_to_per_s is not None
    assert 500.0 < told.recommended.holds_to_per_s < 2500.0
    assert any("is predicted to hold up to" in said for said in told.sentences)


def test_ratios_are_paired_by_round(waiting: SizeFound) -> None:
    first, *others = waiting.confirmed
    assert first.what == "recommended"
    assert first.over is not None
    assert (first.over.value, first.over.low, first.over.high) == (1.0, 1.0, 1.0)
    twice = next(row for row in others if row.what == "cores × 2")
    assert twice.over is not None
    assert twice.over.low is not None
    assert twice.over.low > 10.0


def test_no_more_workers_than_cores_come_with_a_warning() -> None:
    few = found(sizes.cpu_bound(cores=1))
    assert few.recommended.workers == 1
    assert any(said.startswith("With no more workers than cores") for said in few.sentences)
    assert not any(said.startswith("With no more workers than cores") for said in found(sizes.sleeping()).sentences)


def test_the_controls_own_number_is_confirmed_beside() -> None:
    told = found_of(sizes.whole(sizes.cpu_bound(cores=2), own_workers=20), "run")
    assert told is not None
    row = next(each for each in told.confirmed if each.workers == 20)
    assert row.what == "yours"
    assert any(said.startswith("Your 20 workers: ") for said in told.sentences)
    same = found_of(sizes.whole(sizes.cpu_bound(cores=2), own_workers=2), "run")
    assert same is not None
    assert "Your 2 workers are what is recommended." in same.sentences


def test_formulas_stand_beside_with_what_they_cost(waiting: SizeFound) -> None:
    by_name = {row.name: row for row in waiting.formulas}
    assert by_name["cores × 2"].workers == 2
    assert by_name["cores × 2"].how == "confirmed"
    assert by_name["cores × 2"].cost is not None
    assert by_name["cores × 2"].cost > 0.9
    assert by_name["RAM / RSS"].workers is not None
    assert {"Goetz", "Platform.sh", "Heroku"} <= by_name.keys()


def test_the_scalability_law_is_a_summary_with_its_error(waiting: SizeFound) -> None:
    assert waiting.summary is not None
    assert waiting.summary.error is not None
    assert waiting.summary.error > 0.0


def test_a_slow_start_of_workers_is_told_with_its_number(waiting: SizeFound) -> None:
    dynamic = next(row for row in waiting.managers if row.manager == "dynamic")
    assert isinstance(dynamic, ManagerRow)
    # Two workers in two seconds; that they go again afterwards is no growth.
    assert dynamic.forks_per_s == pytest.approx(1.0)
    assert any(said.startswith("pm = dynamic: p99") and "started 1 worker a second" in said for said in waiting.sentences)
    assert any("less while idle" in said for said in waiting.sentences)


def test_the_pool_has_its_reasons(waiting: SizeFound) -> None:
    pool = waiting.pool
    assert pool.settings == {"pm": "static", "pm.max_children": str(waiting.recommended.workers), "listen.backlog": str(BACKLOG)}
    assert pool.reasons.keys() == pool.settings.keys()
    assert pool.kernel == {}


def test_a_kernel_that_lets_fewer_wait_is_set_as_well() -> None:
    run = sizes.whole(sizes.cpu_bound())
    few = SizeRun(
        run.header, tuple(SizeConcluded(each.bottleneck, 128) if isinstance(each, SizeConcluded) else each for each in run.records)
    )
    told = found_of(few, "run")
    assert told is not None
    assert told.pool.kernel == {SOMAXCONN: str(BACKLOG)}


def test_a_leak_asks_for_new_workers_and_a_high_water_mark_does_not() -> None:
    leaking, steady = target_costs([sizes.target("/leaks", leak_kib=2.0), sizes.target("/steady")])
    assert leaking.max_requests is not None
    assert leaking.growth_kib == pytest.approx(2000.0, rel=0.05)
    assert 100 <= leaking.max_requests <= 2000
    assert (steady.max_requests, steady.growth_kib) == (None, None)


def test_a_heavy_target_asks_for_a_pool_of_its_own() -> None:
    front, admin = target_costs([sizes.target("/", own_kib=2_000), sizes.target("/admin", own_kib=12_000)])
    assert (front.heavy, admin.heavy) == (False, True)
    assert "a pool of its own" in admin.words


def test_the_document_is_read_back(waiting: SizeFound) -> None:
    assert msgspec.json.decode(msgspec.json.encode(waiting), type=SizeFound) == waiting


def test_the_terminal_has_room_in_80_columns_for_all_of_it(waiting: SizeFound) -> None:
    console = Console(width=80, record=True, color_system=None, file=io.StringIO())
    console.print(size_summary(waiting))
    assert max(map(len, console.export_text().rstrip().splitlines())) <= 80


def test_the_answer_names_the_pool_and_how_to_have_it(waiting: SizeFound) -> None:
    answer = size_answer(waiting, "runs/one", "runs/one/bundle")
    assert answer.result.startswith(f"{waiting.recommended.workers} workers: ")
    assert ("Apply", "sudo phpdyno bundle apply runs/one/bundle") in answer.next
    assert answer.fitted().lines <= MOST_LINES
    assert size_answer(waiting, "runs/one", "").next == (("Report", "runs/one/report.html"),)


def test_a_prediction_that_fails_stands_beside_the_answer_and_the_pools_are_all_there(waiting: SizeFound) -> None:
    missed = (
        "The prediction of response times fails for this app: p99 at 195/s was predicted as 30 ms (29 ms to 31 ms), "
        "and 134 ms (130 ms to 138 ms) was measured: only that counts."
    )
    pool = msgspec.structs.replace(
        waiting.recommended,
        rate_per_s=195.0,
        predicted_p99_ms=Estimate(30.0, 29.0, 31.0, 0),
        p99_ms=Estimate(134.0, 130.0, 138.0, 3),
        within=False,
    )
    failed = msgspec.structs.replace(waiting, recommended=pool, sentences=(missed, *waiting.sentences))
    answer = size_answer(failed, "runs/one", "runs/one/bundle")
    assert answer.doubts == (f"Warning: {missed[:1].lower()}{missed[1:]}",)
    assert not any(each.startswith("The prediction of response times fails") for each in answer.notes)
    assert answer.table is not None
    assert len(answer.table.rows) == len([row for row in waiting.confirmed if row.per_s is not None])


def test_the_page_shows_every_plot_and_no_markup_from_outside(waiting: SizeFound) -> None:
    page = render_size(msgspec.structs.replace(waiting, app="<script>alert(1)</script>", title="<script>alert(1)</script>"))
    for place in ("throughput", "memory", "response", "workers"):
        assert f'<div id="{place}"' in page
    assert "<script>alert" not in page
    assert "pm.max_children = " in page


def test_numbers_as_people_read_them() -> None:
    assert [ms(0.824), ms(41.2), ms(1234.0), ms(13_950.0)] == ["0.82 ms", "41 ms", "1,234 ms", "14 s"]
    assert [mib(310 * 1024), mib(21 << 20)] == ["310 MiB", "21.0 GiB"]
    assert [part(0.224), part(0.004), part(0.0004), part(0.0), part(1.0)] == ["22 %", "0.4 %", "below 0.1 %", "0.0 %", "100 %"]
