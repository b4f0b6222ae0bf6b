import msgspec
import pytest

from phpdyno.commands.compare.render.page import render_page
from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.errors import DynoError
from phpdyno.journal.records import Concluded, Ended, Incident, Planned, Record
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.verdict import Verdict
from phpdyno.model.workload import Target
from tests.support.made_up.journals import (
    AA,
    HUGE,
    JIT,
    OPCACHE_OFF,
    PRELOAD,
    TIMESTAMPS,
    answers,
    blocks,
    conclusion,
    cost,
    finished,
    header,
    opening,
    paid_by_the_database,
    plan,
    proved,
    tuned,
)
from tests.unit.commands.compare.render.test_page import Page
from tests.unit.commands.compare.render.test_terminal import shown

EFFECTS = {JIT.name: 1.07}


def row(view: RunView, name: str) -> Row:
    return next(each for each in view.rows if each.name == name)


def one_of(records: list[Record]) -> Row:
    (found,) = view_of(records, "run").rows
    return found


def test_a_finished_run() -> None:
    view = view_of(finished(), "run-1")
    assert (view.run, view.outcome, view.title) == ("run-1", "finished", "wordpress 6.1-synthetic: 6 treatments against the control")
    assert [each.kind for each in view.rows] == ["equivalent", "improved", "regressed", "equivalent", "improved", "invalid"]
    assert [each.is_aa for each in view.rows] == [True] + 5 * [False]
    assert row(view, JIT.name).changed == {"ini.opcache.jit": "tracing", "ini.opcache.jit_buffer_size": "64M"}
    assert row(view, PRELOAD.name).reason == "budget spent"
    assert view.blocks_excluded == 5
    assert row(view, JIT.name).blocks_excluded == 1
    assert row(view, JIT.name).blocks == 39
    assert view.preflight_warnings == ("load average 1.4: something else is running",)
    assert [each.kind for each in view.incidents] == ["lost block"]
    assert all(each.sentence.startswith(each.name) for each in view.rows)


def test_the_simultaneous_confidence_and_that_of_one_interval() -> None:
    found = row(view_of(finished(), "run"), JIT.name)
    assert (found.confidence, found.simultaneous_over, found.blocks_needed) == (0.95, 6, 10)
    assert found.interval_confidence == pytest.approx(1 - 0.05 / 6)


def test_costs_are_per_request_and_leave_excluded_blocks_out() -> None:
    done = blocks(EFFECTS, 9, stolen=4)
    found = one_of([*opening(plan(JIT)), *done])
    counted = [block.observations[0] for block in done if not block.observations[0].excluded]
    spent_ns = sum(each.control.php_cpu_ns for each in counted)
    assert found.control is not None
    assert found.treated is not None
    assert found.control.requests == 8 * 120
    assert found.control.php_cpu_ms_per_request == pytest.approx(spent_ns / (8 * 120) / 1e6)
    assert found.control.nginx_cpu_ms_per_request == pytest.approx(0.09)
    assert found.control.database_cpu_ms_per_request == pytest.approx(1.4)
    assert found.control.host_cpu_ms_per_request > found.control.php_cpu_ms_per_request
    assert found.treated.php_cpu_ms_per_request < found.control.php_cpu_ms_per_request
    assert found.control.service_p50_ms is not None
    assert found.control.service_p99_ms is not None
    assert found.control.service_p50_ms < found.control.service_p99_ms


def test_the_99th_percentile_of_four_requests_is_not_shown() -> None:
    four = {"control": cost(21.0, 4), "treated": cost(20.0, 4)}
    done = [
        msgspec.structs.replace(block, observations=tuple(msgspec.structs.replace(seen, **four) for seen in block.observations))
        for block in blocks(EFFECTS, 9)
    ]
    found = one_of([*opening(plan(JIT)), *done])
    assert found.control is not None
    assert found.control.service_p99_ms is None
    assert found.control.service_p50_ms == pytest.approx(cost(21.0, 4).service_p50_ns / 1e6)
    printed = shown([*opening(plan(JIT)), *done], 80)
    assert "service time (median over blocks):" in printed
    assert "  –: fewer than 100 valid answers a block: p99 would be the greatest of them" in printed
    (line,) = [line for line in printed.splitlines() if line.startswith("  treatment  ")]
    assert line.split()[-1] == "–"
    page = Page(render_page(view_of([*opening(plan(JIT)), *done], "run"))).text
    assert "– where most of them have fewer than 100 valid answers" in page
    whole = shown([*opening(plan(JIT)), *blocks(EFFECTS, 9)], 80)
    assert "fewer than 100" not in whole


def test_the_whole_stack_dilutes_the_effect() -> None:
    found = one_of([*opening(plan(JIT)), *blocks(EFFECTS, 20)])
    assert found.whole_stack is not None
    assert found.ratio is not None
    assert 1 < found.whole_stack.low < found.whole_stack.ratio < found.ratio


def test_a_saving_that_is_spent_elsewhere_is_warned_of() -> None:
    done = paid_by_the_database(blocks(EFFECTS, 20))
    found = one_of([*opening(plan(JIT)), *done])
    assert found.whole_stack is not None
    assert found.whole_stack.high < 1
    assert (found.kind, found.relevance) == ("improved", "spent elsewhere")
    assert "improved, spent elsewhere" in found.sentence
    assert any("spent elsewhere: PHP + nginx + database together cost more per request" in warning for warning in found.warnings)
    # The verdict in the journal says the same.
    verdict = conclusion(plan(JIT), done, JIT).verdict
    assert (verdict.kind, verdict.relevance) == ("improved", "spent elsewhere")


def test_a_saving_that_is_hardly_spent_elsewhere_is_told_from_one_that_certainly_is() -> None:
    done = []
    for block in blocks(EFFECTS, 20):
        (seen,) = block.observations
        saved_ns = seen.control.php_cpu_ns - seen.treated.php_cpu_ns
        scatter = 1.0 + 1.5 * (-1) ** block.block
        dearer = msgspec.structs.replace(seen.treated, database_cpu_ns=seen.treated.database_cpu_ns + round((0.3 + scatter) * saved_ns))
        done.append(msgspec.structs.replace(block, observations=(msgspec.structs.replace(seen, treated=dearer),)))
    found = one_of([*opening(plan(JIT)), *done])
    assert found.whole_stack is not None
    assert found.whole_stack.ratio < 1 < found.whole_stack.high
    assert (found.kind, found.relevance) == ("improved", "relevant")
    assert any("together cost no less per request" in warning for warning in found.warnings)


def test_a_saving_that_may_not_be_one_of_the_whole_is_warned_of() -> None:
    done = []
    for block in blocks(EFFECTS, 20):
        (seen,) = block.observations
        saved_ns = seen.control.php_cpu_ns - seen.treated.php_cpu_ns
        scatter = 0.5 + 0.4 * (-1) ** block.block
        dearer = msgspec.structs.replace(seen.treated, web_cpu_ns=seen.treated.web_cpu_ns + round(scatter * 1.9 * saved_ns))
        done.append(msgspec.structs.replace(block, observations=(msgspec.structs.replace(seen, treated=dearer),)))
    found = one_of([*opening(plan(JIT)), *done])
    assert found.whole_stack is not None
    assert found.whole_stack.low <= 1 < found.whole_stack.ratio
    assert any("is not shown" in warning for warning in found.warnings)


def test_an_interrupted_run_gets_its_verdict_from_the_blocks() -> None:
    view = view_of([*opening(plan(JIT)), *blocks(EFFECTS, 15), Ended("interrupted", "SIGINT", 88.0)], "run")
    (found,) = view.rows
    assert (view.outcome, view.outcome_detail, view.elapsed_s) == ("interrupted", "SIGINT", 88.0)
    assert (found.kind, found.relevance, found.reason, found.blocks) == ("improved", "relevant", "not concluded", 15)
    assert [proof.proved for proof in found.proofs] == [True, True]
    assert found.sentence.endswith("(not concluded)")


def test_a_run_without_an_end_is_unfinished() -> None:
    view = view_of([*opening(plan(JIT)), *blocks(EFFECTS, 3)], "run")
    assert (view.outcome, view.outcome_detail) == ("unfinished", "")
    assert view.elapsed_s == pytest.approx(26.5)


def test_a_resumed_run_that_has_not_ended_again_is_unfinished() -> None:
    resumed = [*opening(plan(JIT)), *blocks(EFFECTS, 3), Ended("interrupted", "", 30.0), Incident(-1, "", "resume", "continued")]
    assert view_of(resumed, "run").outcome == "unfinished"
    again = view_of([*resumed, Ended("finished", "", 12.0)], "run")
    assert (again.outcome, again.elapsed_s) == ("finished", 42.0)


def test_an_unknown_outcome_is_a_failure() -> None:
    assert view_of([*opening(plan(JIT)), Ended("exploded", "why", 1.0)], "run").outcome == "failed"


def test_no_block_no_number() -> None:
    view = view_of([*opening(plan(JIT)), Ended("failed", "nginx did not start", 2.0)], "run")
    (found,) = view.rows
    assert (found.kind, found.ratio, found.control, found.whole_stack, found.blocks) == ("inconclusive", None, None, None, 0)
    assert "0 of at least 7 blocks" in found.sentence
    assert (view.blocks, view.control_costs) == ((), ())


def test_below_the_least_number_of_blocks_there_is_no_number() -> None:
    found = one_of([*opening(plan(JIT)), *blocks(EFFECTS, 6)])
    assert (found.ratio, found.low, found.high, found.sigma, found.clipped_ratio, found.blocks) == (None, None, None, None, None, 6)
    assert found.control is not None


def test_a_block_measured_twice_counts_once_and_the_later_wins() -> None:
    first = blocks(EFFECTS, 8)
    again = blocks({JIT.name: 1.5}, 1, first=7)
    view = view_of([*opening(plan(JIT)), *first, *again], "run")
    assert view.rows[0].blocks == 8
    assert [point.block for point in view.blocks] == list(range(8))
    assert view.blocks[-1].log_ratio == again[0].observations[0].log_ratio
    assert len(view.control_costs) == 8


def test_blocks_after_a_verdict_overtake_it() -> None:
    made = plan(JIT)
    done = blocks(EFFECTS, 16)
    early = conclusion(made, done[:8], JIT)
    found = one_of([*opening(made), *done[:8], early, *done[8:]])
    assert (found.blocks, found.reason) == (16, "not concluded")
    settled = one_of([*opening(made), *done, conclusion(made, done, JIT)])
    assert (settled.blocks, settled.reason) == (16, "")


def test_an_invalid_verdict_stays_and_has_no_number_anywhere() -> None:
    made = plan(JIT)
    done = blocks(EFFECTS, 12)
    effect = conclusion(made, done, JIT).verdict.effect
    fault = Concluded(Verdict(JIT.name, "invalid", effect=effect, reason="answers differ under load"))
    view = view_of([*opening(made), *done[:10], fault, *done[10:]], "run")
    (found,) = view.rows
    assert (found.kind, found.ratio, found.control, found.treated, found.whole_stack) == ("invalid", None, None, None, None)
    assert view.blocks == ()
    assert found.sentence == f"{JIT.name}: no number (answers differ under load): invalid"


def test_different_answers_make_an_unconcluded_arm_invalid_for_good() -> None:
    records = [*opening(plan(JIT)), answers(JIT.name, equal=False, detail="/ has another title"), answers(JIT.name), *blocks(EFFECTS, 9)]
    found = one_of(records)
    assert (found.kind, found.reason, found.ratio) == ("invalid", "answers differ: / has another title", None)


def test_a_failed_proof_makes_an_unconcluded_arm_invalid() -> None:
    found = one_of([*opening(plan(HUGE)), proved(HUGE, works=False, detail="AnonHugePages: 0 KiB"), *blocks({HUGE.name: 1.2}, 9)])
    assert found.kind == "invalid"
    assert found.reason == "env.USE_ZEND_ALLOC_HUGE_PAGES=1 is not effective: AnonHugePages: 0 KiB"


def test_a_missing_proof_is_warned_of() -> None:
    records = [each for each in opening(plan(JIT)) if type(each).__name__ != "Proved"]
    assert any("no proof of effect" in warning for warning in one_of([*records, *blocks(EFFECTS, 9)]).warnings)


def test_a_setting_that_the_control_has_too_is_warned_of() -> None:
    record = proved(JIT)
    first = msgspec.structs.replace(record.proofs[0], proved=False, same_as_control=True)
    same = msgspec.structs.replace(record, proofs=(first, record.proofs[1]))
    found = one_of([*opening(plan(JIT)), same, *blocks(EFFECTS, 9)])
    assert found.kind == "improved"
    assert any("the control has the same value" in warning for warning in found.warnings)


def test_nothing_but_settings_of_the_control_is_invalid() -> None:
    record = proved(TIMESTAMPS)
    same = msgspec.structs.replace(record.proofs[0], proved=False, same_as_control=True)
    records = [*opening(plan(TIMESTAMPS)), msgspec.structs.replace(record, proofs=(same,)), *blocks({TIMESTAMPS.name: 1.0}, 9)]
    assert one_of(records).kind == "invalid"


def test_an_aa_arm_with_a_direction_is_warned_of() -> None:
    found = one_of([*opening(plan(AA)), *blocks({AA.name: 1.05}, 20)])
    assert found.is_aa
    assert any("identical to the control" in warning for warning in found.warnings)


def test_another_build_without_settings_is_no_aa_arm() -> None:
    other = Arm("build=pgo", PhpBuild("/opt/php/sbin/php-fpm", "8.2.0-synthetic"))
    view = view_of([*opening(plan(other)), *blocks({other.name: 1.1}, 8)], "run")
    assert not view.rows[0].is_aa
    assert "/opt/php/sbin/php-fpm" in view.scope
    assert "/usr/sbin/php-fpm8.2" in view.scope


def test_scope_workload_and_control_in_words() -> None:
    made = plan(JIT, targets=(Target("/", 3.0), Target("/?p=1", 1.0, answers="status")))
    control = msgspec.structs.replace(made.control, settings={"pool.pm": "static", "ini.precision": "17"})
    view = view_of(opening(msgspec.structs.replace(made, control=control)), "run")
    assert view.workload == "GET / (75 %), /?p=1 (25 %) as synthetic.test; closed loop, 1 at a time, HTTP keep-alive through nginx"
    assert view.control.endswith("ini.precision=17; pool.pm=static")
    assert [(each.path, each.share, each.compared) for each in view.targets] == [("/", 0.75, "body"), ("/?p=1", 0.25, "status")]
    assert all(part in view.scope for part in ("Synthetic CPU 9000", "2 cores", "2 targets", "8.2.0-synthetic", "seed 7"))
    assert "CPU time from cgroup v2, core 1 measured, core 0 for the rest" in view.host


@pytest.mark.parametrize(
    ("argv", "repeat"),
    [
        (("/opt/x/phpdyno", "compare", "hello", "--seed=3"), "phpdyno compare hello --seed=3"),
        (("phpdyno", "compare", "hello", "--treatment", "a=1;b=2"), "phpdyno compare hello --treatment 'a=1;b=2' --seed 7"),
        (("compare", "hello", "--seed", "3"), "phpdyno compare hello --seed 3"),
        ((), "phpdyno --seed 7"),
    ],
)
def test_how_to_repeat(argv: tuple[str, ...], repeat: str) -> None:
    first = msgspec.structs.replace(header(), argv=argv)
    assert view_of([first, Planned(plan(JIT))], "run").repeat == repeat


@pytest.mark.parametrize(
    ("command", "argv", "repeat"),
    [
        # A study has no --seed, and the seed of a part of a tune is not that of the tune.
        ("compare", ("study", "studies/opcache.toml"), "phpdyno study studies/opcache.toml"),
        ("compare", ("matrix", "hello", "wordpress"), "phpdyno matrix hello wordpress"),
        ("compare", ("ladder", "hello"), "phpdyno ladder hello"),
        ("tune", ("tune", "hello"), "phpdyno tune hello"),
        ("selfcheck", ("selfcheck", "--effect", "1%"), "phpdyno selfcheck --effect 1%"),
        ("ladder", ("ladder", "hello"), "phpdyno ladder hello --seed 7"),
    ],
)
def test_a_part_of_a_larger_run_is_repeated_by_that_runs_own_seed(command: str, argv: tuple[str, ...], repeat: str) -> None:
    first = msgspec.structs.replace(header(), command=command, argv=argv)
    assert view_of([first, Planned(plan(JIT))], "run").repeat == repeat


def test_without_a_plan_there_is_nothing_to_report() -> None:
    with pytest.raises(DynoError, match="run-9: the run ended before it had a plan \\(failed: no php-fpm\\)"):
        view_of([header(), Ended("failed", "no php-fpm", 0.1)], "run-9")
    with pytest.raises(DynoError, match="before it had a plan"):
        view_of([], "run")


def test_other_treatments_do_not_mix() -> None:
    effects = {JIT.name: 1.07, OPCACHE_OFF.name: 0.2, TIMESTAMPS.name: 1.0}
    view = view_of([*opening(plan(JIT, OPCACHE_OFF, TIMESTAMPS)), *blocks(effects, 14)], "run")
    assert row(view, JIT.name).kind == "improved"
    assert row(view, OPCACHE_OFF.name).kind == "regressed"
    assert len(view.control_costs) == 14
    assert len(view.blocks) == 42


def test_a_verdict_on_an_unknown_treatment_is_left_alone() -> None:
    view = view_of([*opening(plan(JIT)), Concluded(Verdict("stranger", "improved"))], "run")
    assert [each.name for each in view.rows] == [JIT.name]


def test_a_plan_of_any_treatments_has_a_view() -> None:
    treatments = tuple(tuned(f"ini.setting_{number}=1") for number in range(12))
    assert len(view_of(opening(plan(*treatments)), "run").rows) == 12
    assert view_of(opening(plan()), "run").rows == ()
