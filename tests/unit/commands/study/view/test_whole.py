"""A study's view: figures beside the reference's, contrasts with honest intervals, notes that the
data choose."""

import math
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.compare.view.shape import Ratio
from phpdyno.commands.study.render.page import study_page
from phpdyno.commands.study.view.cells import against_control, contrast_cells, factor, failed, number, per_s, ratio
from phpdyno.commands.study.view.contrasts import quotient
from phpdyno.commands.study.view.shape import ComparisonFigures, StudyView
from phpdyno.commands.study.view.whole import side_of, study_view
from phpdyno.journal.records import BlockDone, Concluded, Record
from tests.support.made_up.ladders import build
from tests.support.made_up.protocol import carried
from tests.support.made_up.studies import NO_OPCACHE, counts, cpu_journal, journals_of, loaded_journal, record_of, small_study


@pytest.fixture
def view(tmp_path: Path) -> StudyView:
    study = small_study(tmp_path)
    return study_view(record_of(study, {"blog-cpu": "failed"}, counts()), journals_of(study))


def named(view: StudyView, name: str) -> ComparisonFigures:
    return next(each for each in view.comparisons if each.name == name)


def test_every_arm_has_its_levels_and_its_ratio_to_the_control(view: StudyView) -> None:
    arms = {each.arm: each for each in named(view, "shop-throughput").arms}
    assert list(arms) == ["control", "tcp", "no opcache", "no opcache, tcp"]
    assert arms["no opcache, tcp"].levels == ("off", "tcp")
    found = arms["no opcache"].ratio
    assert found is not None
    assert found.low < 0.1 < found.high
    assert arms["no opcache, tcp"].ratio is None


def test_throughput_has_an_interval_of_its_own_and_failures_are_told_apart(view: StudyView) -> None:
    arms = {each.arm: each for each in named(view, "shop-throughput").arms}
    assert arms["control"].per_s is not None
    assert arms["control"].per_s.low < 880 < arms["control"].per_s.high
    # 12 of 4,000 fail in each of 14 blocks: a quarter by time-out.
    assert failed(arms["tcp"].cost) == ("56,000", "126", "42", "0")
    assert failed(arms["control"].cost) == ("112,000", "0", "0", "0")


def test_without_enough_blocks_a_number_says_that_it_has_no_interval(view: StudyView) -> None:
    arms = {each.arm: each for each in named(view, "shop-cpu").arms}
    assert arms["no opcache"].ratio is None
    assert against_control(arms["no opcache"]) == "no interval (3 of 6 blocks)"
    assert per_s(structs.replace(arms["control"], per_s=None)).endswith("(no interval)")


def test_a_comparison_that_never_began_has_no_arms_and_is_named_as_missing(view: StudyView) -> None:
    assert named(view, "blog-cpu").arms == ()
    assert [(each.name, each.state) for each in view.missing] == [("blog-cpu", "failed")]


def test_a_quotient_is_as_wide_as_both_intervals_together(view: StudyView) -> None:
    arms = {each.arm: each for each in named(view, "shop-throughput").arms}
    over, under = arms["tcp"], arms["no opcache"]
    found = quotient(over, under)
    assert found is not None
    assert over.ratio is not None
    assert under.ratio is not None
    assert found.ratio == pytest.approx(over.ratio.ratio / under.ratio.ratio)
    width = math.log(found.high / found.low)
    assert width == pytest.approx(math.log(over.ratio.high / over.ratio.low) + math.log(under.ratio.high / under.ratio.low))
    # Against the control itself the interval is only turned over.
    alone = quotient(arms["control"], under)
    assert alone == Ratio(1 / under.ratio.ratio, 1 / under.ratio.high, 1 / under.ratio.low)
    assert quotient(arms["no opcache, tcp"], under) is None


def test_contrasts_stand_beside_the_references_ratio(view: StudyView) -> None:
    head, rows = contrast_cells(view)
    assert head == ("how many times better", "reference, throughput", "shop, throughput", "shop, CPU per request")
    # 5480 / 520; of CPU per request the reference says nothing.
    assert rows[0][:2] == ("opcache on against off", "10.5×")
    assert rows[0][3] == "no interval"
    # The reference has no figure for TCP without opcache, and ours no interval.
    assert rows[1] == ("unix against TCP (opcache off)", "–", "no interval", "–")


def test_without_a_reference_arms_stand_beside_each_other_alone(tmp_path: Path) -> None:
    study = structs.replace(small_study(tmp_path), reference=None)
    view = study_view(record_of(study), journals_of(study))
    head, rows = contrast_cells(view)
    assert head == ("how many times better", "shop, throughput", "shop, CPU per request")
    assert {len(row) for row in rows} == {len(head)}
    page = study_page(view)
    assert "## Arm against arm" in page
    assert "reference" not in page.partition("## Arm against arm")[2]


def test_a_study_by_cpu_alone_says_nothing_of_throughput(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    by_cpu = structs.replace(study, comparisons=tuple(each for each in study.comparisons if each.metric == "cpu"))
    assert "Throughput is" in study_page(study_view(record_of(study), journals_of(study)))
    assert "Throughput is" not in study_page(study_view(record_of(by_cpu), {"shop-cpu": cpu_journal(12)}))


def test_a_contrast_is_never_made_of_two_comparisons(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    loaded, *rest = study.comparisons
    alone = [
        structs.replace(loaded, name=f"shop-{number}", treatments=(name,)) for number, name in enumerate(("no opcache", "no opcache, tcp"))
    ]
    split = structs.replace(study, comparisons=(*alone, *rest))
    made = study_view(record_of(split), {each.name: loaded_journal() for each in alone})
    titles = {each.title for each in made.contrasts}
    assert titles == {"opcache on against off"}
    # The same contrast from a second comparison of the app adds no second row.
    twice = structs.replace(study, comparisons=(loaded, structs.replace(loaded, name="again"), *rest))
    made = study_view(record_of(twice), {"shop-throughput": loaded_journal(), "again": loaded_journal()})
    assert len(made.contrasts) == 2


def test_a_contrast_is_of_the_first_comparison_that_has_an_interval_for_it(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    loaded, *rest = study.comparisons
    twice = structs.replace(study, comparisons=(loaded, structs.replace(loaded, name="again"), *rest))
    alone = study_view(record_of(study), {"shop-throughput": loaded_journal()})
    for journals in (
        {"shop-throughput": loaded_journal(3), "again": loaded_journal()},
        {"shop-throughput": loaded_journal(), "again": loaded_journal(3)},
    ):
        made = study_view(record_of(twice), journals)
        assert made.contrasts == alone.contrasts
        assert made.contrasts[0].ours is not None


def test_the_data_choose_the_notes(view: StudyView, tmp_path: Path) -> None:
    assert view.notes == ("Always said.", "Ours is smaller.")
    study = small_study(tmp_path)
    assert study.reference is not None
    reference = structs.replace(study.reference, throughput_per_s={"control": 900.0, "no opcache": 450.0})
    larger = study_view(record_of(structs.replace(study, reference=reference)), journals_of(study))
    assert larger.notes == ("Always said.", "Ours is larger.")
    nothing = study_view(record_of(study), {})
    assert nothing.notes == ("Always said.",)


def test_cpu_stands_beside_the_references_ratio_but_chooses_no_note(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    made = study_view(record_of(study), {"shop-cpu": cpu_journal(12)})
    (contrast,) = made.contrasts
    assert (contrast.metric, contrast.reference, contrast.side) == ("cpu", 5480 / 520, None)
    assert made.notes == ("Always said.",)


def test_where_an_interval_lies_beside_a_number() -> None:
    assert [side_of(Ratio(2.0, 1.5, 2.5), other) for other in (1.2, 2.0, 3.0)] == ["larger", "alike", "smaller"]


def test_syscalls_of_old_and_new_names_share_a_row(view: StudyView) -> None:
    (table,) = view.syscalls
    rows = {row.name: row for row in table.rows}
    assert rows["open, openat"].ours == (58_000.0, 0.0)
    assert rows["open, openat"].reference == (58_059.0, None)
    assert rows["stat, lstat, fstat, newfstatat"].reference == (185_063.0, None)
    assert table.totals == (206_000.0, 19_204.0)


def section_of(view: StudyView, title: str) -> str:
    return study_page(view).partition(f"## shop 6.1-synthetic: {title}")[2].partition("\n## ")[0]


def test_what_casts_doubt_on_an_effect_stands_below_its_table(tmp_path: Path) -> None:
    study, records = small_study(tmp_path), cpu_journal(12)
    doubted = [*records[:-1], *carried(NO_OPCACHE, 20, 0.3, 12), records[-1]]
    made = study_view(record_of(study), {"shop-throughput": loaded_journal(), "shop-cpu": doubted})
    (_, treated) = named(made, "shop-cpu").arms
    assert treated.carry_over is not None
    assert (treated.carry_over.treatment, treated.carry_over.differs) == ("no opcache", True)
    assert treated.carry_over.said in treated.warnings
    section = section_of(made, "CPU per request")
    assert "Carry-over, the effect by slot length:\n\n- `no opcache`: 1 request (the verdict) 0.2" in section
    assert "Warnings:\n\n- `no opcache`: the effect depends on the slot length: " in section
    loaded = section_of(made, "throughput")
    assert "- `tcp`: requests failed under the treatment: 168 of 56000 (126 wrong_status (502), 42 timed_out)" in loaded
    assert "Carry-over" not in loaded


def test_an_effect_that_rare_dear_requests_carry_is_warned_of(tmp_path: Path) -> None:
    def pulled(record: Record) -> Record:
        if not isinstance(record, BlockDone):
            return record
        moved = tuple(structs.replace(each, clipped_log_ratio=each.log_ratio + 0.1) for each in record.observations)
        return structs.replace(record, observations=moved)

    records = [pulled(record) for record in cpu_journal(12) if not isinstance(record, Concluded)]
    made = study_view(record_of(small_study(tmp_path)), {"shop-cpu": records})
    assert "- `no opcache`: clipping outlying pairs would move the effect by 10.5 %" in section_of(made, "CPU per request")


def test_the_control_against_itself_is_shown_beside_every_table(view: StudyView) -> None:
    found = named(view, "shop-cpu").aa
    assert found is not None
    assert found.blocks == 8
    for title in ("CPU per request", "throughput"):
        assert "\nThe control against itself (A/A): control / control 0.997 (95 % CI 0.991 to 1.003, 8 blocks).\n" in section_of(
            view, title
        )
    assert "Warnings:" not in section_of(view, "CPU per request")
    uncalibrated = structs.replace(view, comparisons=tuple(structs.replace(each, aa=None) for each in view.comparisons))
    assert "A/A" not in section_of(uncalibrated, "throughput")


def test_an_arm_that_is_invalid_gets_no_number(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    made = study_view(record_of(study), {"shop-cpu": cpu_journal(12)})
    (_, treated) = named(made, "shop-cpu").arms
    assert against_control(treated).startswith("0.2")
    invalid = structs.replace(treated, verdict="invalid", ratio=None, reason="it does not start")
    assert against_control(invalid) == "invalid: it does not start"


@pytest.mark.parametrize(("value", "said"), [(5480.4, "5,480"), (82.14, "82.1"), (5.321, "5.32"), (0.5321, "0.532")])
def test_numbers_have_the_digits_that_count(value: float, said: str) -> None:
    assert number(value) == said


def test_ratios_have_the_digits_that_their_interval_deserves() -> None:
    assert ratio(Ratio(4.713, 4.62, 4.801)) == "4.71× (4.62 to 4.80)"
    assert ratio(Ratio(10.04, 9.841, 10.3)) == "10.04× (9.84 to 10.30)"
    assert ratio(Ratio(1.0012, 1.0008, 1.0016)) == "1.00120× (1.00080 to 1.00160)"
    assert ratio(None) == "no interval"
    assert (factor(10.54), factor(4.566), factor(1.529)) == ("10.5×", "4.57×", "1.529×")


def with_loaded(view: StudyView, *slots: int) -> StudyView:
    """The view with the throughput comparison measured in slots of these lengths."""
    one = named(view, "shop-throughput")
    made = tuple(structs.replace(one, name=f"slots-{slot}", slot_requests=slot) for slot in slots)
    return structs.replace(view, comparisons=(*made, *view.comparisons[1:]))


def test_an_arm_at_two_slot_lengths_stands_side_by_side(view: StudyView) -> None:
    page = study_page(with_loaded(view, 400, 2000))
    assert "## The same arms in slots of different lengths" in page
    assert "| shop | tcp | slots-400 | 400 | 25 % |" in page
    assert "| shop | tcp | slots-2000 | 2,000 | 5 % |" in page
    assert "100 static workers, 100 requests in flight, 400 in a slot" in page
    assert "100 static workers, 100 requests in flight, 2,000 in a slot" in page
    for same in (with_loaded(view, 400), with_loaded(view, 400, 400)):
        assert "slots of different lengths" not in study_page(same)


def test_a_slot_of_as_many_requests_as_are_in_flight_is_called_a_burst(view: StudyView) -> None:
    page = study_page(with_loaded(view, 100))
    assert "## shop 6.1-synthetic: throughput, 100 static workers, bursts of 100 requests" in page
    assert "in single bursts (`slots-100`), generator" in page
    assert "A slot of `slots-100` is one burst of 100 requests, all sent at once" in page
    assert "closed loop" not in page
    both = study_page(with_loaded(view, 100, 400))
    assert "in single bursts (`slots-100`) or in a closed loop (all others)" in both
    assert "| shop | tcp | slots-100 | 100 | – |" in both


def test_builds_are_shown_with_what_trained_them_and_what_must_be_known_of_them(tmp_path: Path) -> None:
    study, notice = small_study(tmp_path), "older than what is installed, for measuring only"
    pgo = build("pgo", "shop")
    builds = {"plain": build("o2"), "trained": structs.replace(pgo, origin=structs.replace(pgo.origin, notice=notice))}
    view = study_view(structs.replace(record_of(study), builds=builds), journals_of(study))
    assert list(view.builds) == ["plain", "trained"]
    page = study_page(view)
    assert "## Builds" in page
    assert "| plain | 8.2.36 | GCC 12.2.0 | HYBRID | – |" in page
    assert "| trained | 8.2.36 | GCC 12.2.0 | HYBRID | shop, 1500 requests |" in page
    assert f"| warning | {notice} |" in page
    assert "| training | shop, 1500 requests |" in page
    less = structs.replace(build("pgo+bolt", "shop"), skipped={"bolt": "BOLT is not installed"})
    lesser = study_view(structs.replace(record_of(study), builds={"bolted": less}), {})
    assert "bolted: without bolt: BOLT is not installed" in lesser.warnings
    assert "| bolted without bolt | 8.2.36 |" in study_page(lesser)
    why = "/var/cache/phpdyno/1a2b/opcache.so: BOLT (optimise) failed: 3/4 of it; see /tmp/runs/build-logs/build-bolt.log"
    placed = structs.replace(less, skipped={"bolt": why})
    said = study_view(structs.replace(record_of(study), builds={"bolted": placed}), {}).warnings
    assert said == ("bolted: without bolt: opcache.so: BOLT (optimise) failed: 3/4 of it; see build-bolt.log",)
    assert "## Builds" not in study_page(study_view(record_of(study), journals_of(study)))


def test_how_to_repeat_it_names_the_file_that_was_given(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    assert "`phpdyno study small.toml` measures" in study_page(study_view(record_of(study), {}))
    given = structs.replace(record_of(study), file="elsewhere/sockets.toml")
    assert "`phpdyno study elsewhere/sockets.toml` measures" in study_page(study_view(given, {}))
