"""Section `truth` without servers: what is gone on with, and how rows become figures."""

import shutil
from pathlib import Path

import pytest
from msgspec import structs
from tools.bench.figures import measured_text, reached
from tools.bench.results import QUICK, Store
from tools.bench.sections import truth

from phpdyno.commands.selfcheck.run import SelfcheckChanged
from phpdyno.commands.selfcheck.view import checks_view
from phpdyno.errors import DynoError
from phpdyno.journal.checks import CHECKS_FILE, Checks, LoopCost, SelfcheckRequest, read_checks
from phpdyno.journal.writer import JournalWriter
from phpdyno.session.provenance import code_digest
from tests.support.made_up.checks import GROUND, HOST, WISH, checks, compared, header, numberless, session


def silent(_: str) -> None:
    """Says nothing."""


def begun(run: Path, code: str) -> Path:
    run.mkdir(parents=True)
    with JournalWriter(run / CHECKS_FILE) as writer:
        writer.append(header(WISH, code))
        writer.append(compared(2))
    return run


def test_the_same_wish_of_the_same_code_is_gone_on_with(tmp_path: Path) -> None:
    assert truth.continues(begun(tmp_path / "same", code_digest()), WISH)
    assert not truth.continues(begun(tmp_path / "code", "other"), WISH)
    assert not truth.continues(tmp_path / "same", structs.replace(WISH, planted=99))
    assert not truth.continues(tmp_path / "nothing", WISH)


def test_what_cannot_be_gone_on_with_is_started_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []

    def fake_resume(run: Path, progress: object) -> tuple[Path, Checks]:
        turns.append(len(read_checks(run).compared))
        if len(turns) == 1:
            raise SelfcheckChanged("kernel changed")
        return run, read_checks(run)

    monkeypatch.setattr(truth, "resume_selfcheck", fake_resume)
    run = begun(tmp_path / "kept", code_digest())
    truth.made(run, WISH, silent)
    assert turns == [1, 0]


def test_another_fault_is_not_taken_for_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_resume(run: Path, progress: object) -> tuple[Path, Checks]:
        raise DynoError("the disk is full")

    monkeypatch.setattr(truth, "resume_selfcheck", fake_resume)
    run = begun(tmp_path / "kept", code_digest())
    with pytest.raises(DynoError, match="disk is full"):
        truth.made(run, WISH, silent)
    assert len(read_checks(run).compared) == 1


def test_figures_are_judged_as_the_rows_are() -> None:
    some = checks(
        *(compared(number, "planted", "improved") for number in range(60)),
        compared(60, "A/A", "inconclusive", truth=0.0),
        compared(61, "long A/A", "inconclusive", truth=0.0),
        numberless(62, "zero", truth=0.0),
    )
    rows = checks_view(some).rows
    word = {"reached": "yes", "not reached": "no", "open": "open", "–": "–"}
    for row in rows:
        assert reached(truth.figure_of(row, some)) == word[row.outcome], row
    assert len(rows) == 13
    assert {row.outcome for row in rows} == {"reached", "not reached", "open", "–"}


def test_what_never_happened_is_shown_with_its_exact_interval() -> None:
    some = checks(*(compared(number, "planted", "improved") for number in range(60)))
    row = next(row for row in checks_view(some).rows if "opposite" in row.check)
    assert measured_text(truth.figure_of(row, some)) == "0.00 % (0.00 to 5.96; 60 comparisons; 0 of 60, 0.0 % (0.0 to 6.0))"


def test_a_row_without_a_judgement_has_no_target() -> None:
    bent = structs.replace(GROUND, line=structs.replace(GROUND.line, bend=0.2, bend_low=0.15, bend_high=0.25))
    some = checks(*(compared(number, "planted", "improved") for number in range(60)), ground=bent)
    rows = [row for row in checks_view(some).rows if row.outcome == "–"]
    assert len(rows) == 5
    assert all(truth.figure_of(row, some).target is None for row in rows)


def test_one_wrong_sign_misses_a_target_that_no_interval_could_prove() -> None:
    some = checks(*(compared(number, "planted", "regressed" if number == 3 else "improved") for number in range(60)))
    row = next(row for row in checks_view(some).rows if "opposite" in row.check)
    assert reached(truth.figure_of(row, some)) == "no"


def finished(run: Path, wish: SelfcheckRequest, ground: LoopCost) -> None:
    run.mkdir(parents=True)
    with JournalWriter(run / CHECKS_FILE) as writer:
        writer.append(header(wish))
        writer.append(ground)
        for number in range(wish.total):
            writer.append(compared(number, "planted" if number >= wish.aa + wish.zero else "A/A"))


def test_parts_that_different_hosts_measured_are_counted_together_and_named(tmp_path: Path) -> None:
    room = Store(tmp_path / "work", tmp_path / "kept").room("truth", silent)
    sizes = structs.replace(QUICK, truth_comparisons=8, truth_parts=2, truth_wordpress=3)
    bent = structs.replace(GROUND, line=structs.replace(GROUND.line, bend=0.02, bend_low=-0.03, bend_high=0.07))
    elsewhere = structs.replace(bent, host=structs.replace(HOST, kernel="6.9.9"))
    wishes = dict(truth.wishes_of(sizes))
    assert list(wishes) == ["hello-1", "hello-2", "wordpress-1"]
    for name, ground in zip(wishes, (GROUND, elsewhere, GROUND), strict=True):
        finished(room.kept / name, wishes[name], ground)
    figures = truth.measure(sizes, room)
    assert [part.what for part in room.parts] == ["9 comparisons on hello"] * 2 + ["3 comparisons on wordpress"]
    assert [part.host.kernel for part in room.parts] == ["6.1.0", "6.9.9", "6.1.0"]
    assert {part.code for part in room.parts} == {"c0de"}
    found = next(figure for figure in figures if "direction is found" in figure.name)
    assert found.basis == "8 comparisons"
    line = next(figure for figure in figures if "is a line" in figure.name)
    assert reached(line) == "open"  # of the worse part
    assert [figure.name for figure in figures if figure.name.startswith("wordpress")] == [
        "wordpress: planted 1 %: measuring time until the direction"
    ]


def test_where_a_part_comes_from_is_what_its_own_record_says() -> None:
    early = session(warnings=("the governor is powersave",))
    late = structs.replace(session(warnings=("the governor is powersave", "steal is 12 %")), started="2026-01-05T01:00:00+0000")
    part = truth.origin_of(checks(compared(0), sessions=(early, late)))
    assert (part.code, part.host, part.began, part.ended) == ("c0de", HOST, "2026-01-02", "2026-01-05")
    assert part.warnings == ("the governor is powersave", "steal is 12 %")
    with pytest.raises(DynoError, match="1 comparisons on hello do not say on which host"):
        truth.origin_of(checks(compared(0), ground=None))


def test_a_part_is_measured_where_the_kept_one_is_unfinished_or_of_another_wish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Store(tmp_path / "work", tmp_path / "kept").room("truth", silent)
    asked: list[SelfcheckRequest] = []

    def fake_made(run: Path, wish: SelfcheckRequest, say: object) -> Checks:
        asked.append(wish)
        finished(run, wish, GROUND)
        return read_checks(run)

    monkeypatch.setattr(truth, "made", fake_made)
    begun(room.kept / "hello-1", "c0de")
    assert truth.part_of("hello-1", WISH, room).finished
    assert truth.part_of("hello-1", WISH, room).finished
    assert asked == [WISH]
    other = structs.replace(WISH, planted=5)
    shutil.rmtree(room.unfinished)
    assert truth.part_of("hello-1", other, room).header.wish == other
    assert asked == [WISH, other]


def test_a_fresh_section_forgets_its_comparisons(tmp_path: Path) -> None:
    store = Store(tmp_path / "work", tmp_path / "kept")
    room = store.room("truth", silent)
    begun(room.unfinished / "hello-1", code_digest())
    begun(room.kept / "hello-2", code_digest())
    store.forget("truth")
    assert not room.unfinished.exists()
    assert not room.kept.exists()
