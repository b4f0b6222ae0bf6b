"""The answer of a tune: one screen, in percent, and nothing called adopted that is not."""

import pytest
from msgspec import structs

from phpdyno.commands.tune.answer import tune_answer
from phpdyno.commands.tune.render.page import render_tune
from phpdyno.commands.tune.view import tune_view
from phpdyno.journal.records import ReachedFor
from phpdyno.journal.tune import TuneRecord
from phpdyno.model.runs.tune import ChangeEffect, Found, PartFound, Race, Racer, Screening, TunedRatio
from phpdyno.report.answer.shape import MOST_LINES, Standing
from phpdyno.tuning.outcome import NO_TIME
from tests.support.made_up.journals import REACHED
from tests.support.made_up.sweeps.tunes import FOUND, JIT, confirmed, record

RUN = "runs/one"
PRELOAD = "preloading 358 scripts"


def wordpress() -> Found:
    """Two of seven changes stay: one is proved twice, the other once."""
    effects = (
        ChangeEffect("ini.opcache.jit=tracing", "helps", TunedRatio(1.080, 1.065, 1.095)),
        ChangeEffect(PRELOAD, "helps", TunedRatio(1.0143, 1.0002, 1.0286)),
        *(ChangeEffect(f"ini.setting{each}=1", "open", TunedRatio(1.006, 0.992, 1.020)) for each in range(12)),
    )
    parts = (
        PartFound(PRELOAD, {"ini.opcache.preload": "/p"}, TunedRatio(0.984, 0.927, 1.044, 5), kept=True, reason=""),
        PartFound("ini.opcache.jit=tracing", JIT, TunedRatio(1.06, 1.015, 1.107, 5), kept=True, reason=""),
        PartFound("ini.setting0=1", {"ini.setting0": "1"}, TunedRatio(0.98, 0.90, 1.07, 5), kept=False, reason=""),
    )
    whole = confirmed("all of them", ratio=TunedRatio(1.118, 1.015, 1.230, 6))
    rest = confirmed("the rest", ratio=TunedRatio(1.080, 1.027, 1.137, 6), aa=TunedRatio(0.988, 0.964, 1.014, 6))
    return structs.replace(
        FOUND, screening=Screening(15, 4, 5, 4, 0.015, effects=effects), parts=parts, confirmations=(whole, rest), settings=JIT, loaded=()
    )


def test_it_says_what_the_last_confirmation_brought_and_how_to_have_it() -> None:
    answer = tune_answer(record(wordpress()), RUN)
    assert (answer.result, answer.standing) == ("7.4 % less CPU per request (95 % CI 2.6 to 12.0 %)", "good")
    assert answer.beside == ("On fresh servers: CPU 21.40 → 19.90 ms · p50 25.10 → 23.40 ms · memory 10.0 → 12.0 MiB a worker",)
    assert answer.table is not None
    assert [line.cells for line in answer.table.rows[:2]] == [
        ("opcache.jit=tracing", "−7.4 % (−8.7 to −6.1)", "keep"),
        (PRELOAD, "−1.41 % (−2.78 to −0.02)", "keep, weak evidence"),
    ]
    assert all(line.cells[2] == "drop" for line in answer.table.rows[2:])
    assert answer.table.rest.endswith("others, intervals within ±2.0 %: leave out")
    assert answer.notes == (
        "Untested: 1 web setting (longer --budget). Not usable: 2 (see report).",
        "Noise check: control against itself +1.2 % (−1.4 to +3.7): no false effect",
    )
    assert answer.next == (
        ("Apply", "sudo phpdyno bundle apply runs/one/bundle"),
        ("Undo", "sudo phpdyno bundle rollback"),
        ("Report", "runs/one/report.html"),
    )
    assert answer.lines <= MOST_LINES


@pytest.mark.parametrize(
    ("made", "result", "standing"),
    [
        (record(Found()), "no change is worth making: none brings 1 % less CPU per request", "none"),
        (record(outcome="interrupted"), "none yet, the tune is interrupted", "open"),
        (record(outcome="failed", detail="nginx ended"), "none yet, the tune is failed: nginx ended", "open"),
        (
            record(Found(confirmations=(confirmed(decision="not adopted", kind="invalid", reason="it crashed"),))),
            "no change is adopted: the best one failed its proof (it crashed)",
            "bad",
        ),
        (
            record(Found(confirmations=(confirmed(decision="not adopted", kind="inconclusive", ratio=TunedRatio(1.02, 0.99, 1.05, 6)),))),
            "no change is proved: 2.0 % less CPU per request (95 % CI 1.0 % more to 4.8 % less)",
            "open",
        ),
        (
            record(Found(confirmations=(confirmed(decision="not adopted", kind="regressed", ratio=TunedRatio(0.95, 0.93, 0.97, 6)),))),
            "no change is adopted: the best one brought 5.3 % more CPU per request (95 % CI 3.1 to 7.5 %)",
            "bad",
        ),
    ],
)
def test_where_nothing_is_adopted_it_says_so_and_offers_no_bundle(made: TuneRecord, result: str, standing: Standing) -> None:
    answer = tune_answer(made, RUN)
    assert (answer.result, answer.standing) == (result, standing)
    assert "Apply" not in dict(answer.next)
    assert ("Go on" in dict(answer.next)) == (made.outcome != "finished")


def test_a_control_that_differs_from_itself_is_not_called_fine() -> None:
    found = structs.replace(FOUND, confirmations=(confirmed(aa=TunedRatio(1.03, 1.01, 1.05, 6)),))
    assert tune_answer(record(found), RUN).doubts[-1].endswith("it should be 0: trust no small effect of this run")


def test_reserved_pages_have_one_number_and_their_price() -> None:
    effect = ChangeEffect("os.vm.nr_hugepages=66", "helps", TunedRatio(1.02, 1.01, 1.03))
    part = PartFound("os.vm.nr_hugepages=66", {"os.vm.nr_hugepages": "66"}, TunedRatio(1.02, 1.01, 1.03, 5), kept=True, reason="")
    found = structs.replace(
        FOUND, screening=Screening(2, 4, 5, 4, 0.015, effects=(effect,)), parts=(part,), settings={**JIT, "os.vm.nr_hugepages": "98"}
    )
    answer = tune_answer(record(found), RUN)
    assert answer.table is not None
    assert answer.table.rows[0].cells[0] == "vm.nr_hugepages=98 (takes 196 MiB)"


def test_what_was_taken_apart_is_not_called_adopted_on_the_page() -> None:
    page = render_tune(tune_view(record(wordpress()), "run"))
    assert page.count("proved as a whole, then taken apart") == 1
    assert page.count('<p class="muted">adopted</p>') == 1


def test_where_nothing_could_be_measured_nothing_is_judged() -> None:
    effects = (ChangeEffect("ini.opcache.jit=tracing", "unknown", None),)
    found = Found(changes=FOUND.changes, screening=Screening(4, 2, 5, 4, 0.03, effects=effects))
    answer = tune_answer(record(found), RUN)
    assert (answer.result, answer.standing) == ("nothing is decided: no change could be measured in this budget (give more)", "open")


def test_what_the_answers_showed_stands_beside_the_result() -> None:
    page = "Warning: / and /a answer the very same page (16 bytes)"
    assert tune_answer(record(structs.replace(FOUND, remarks=(page,))), RUN).doubts == (page,)
    messages = tuple(f"/{name} shows a message of PHP: Notice" for name in "ab")
    several = structs.replace(FOUND, remarks=(*messages, page))
    answer = tune_answer(record(several), RUN)
    assert (answer.doubts, answer.notes[:2]) == ((page,), (messages[0], "1 more message of PHP in pages: --verbose"))
    assert all(each in render_tune(tune_view(record(several), "run")) for each in several.remarks)
    missed = tune_answer(record(reached=ReachedFor(REACHED)), RUN).doubts
    assert any(each.startswith("Warning: the app got no answer from") for each in missed)


def test_what_there_was_no_time_to_race_is_not_said_to_be_worth_nothing() -> None:
    racer = Racer("ini.opcache.jit=tracing", JIT, None, NO_TIME)
    late = Found(changes=FOUND.changes, screening=FOUND.screening, race=Race(0, (racer,), "", "nobody could be measured"))
    answer = tune_answer(record(late), RUN)
    assert answer.result == (
        "nothing is proved: opcache.jit=tracing looked better in the screening, and there was no time to confirm it (give more --budget)"
    )
    assert answer.standing == "open"
    beaten = structs.replace(racer, fate="it answers differently")
    lost = structs.replace(late, race=Race(0, (beaten,), "", "nobody could be measured"))
    assert tune_answer(record(lost), RUN).standing == "none"


@pytest.mark.parametrize(
    ("screened", "alone", "decision"),
    [
        # The screening shows more than the margin of 1 %, and fresh instances leave it open.
        (TunedRatio(1.084, 1.068, 1.099), TunedRatio(1.03, 0.97, 1.09, 5), "keep"),
        (TunedRatio(1.084, 1.068, 1.099), None, "keep"),
        (TunedRatio(1.014, 1.004, 1.024), TunedRatio(1.03, 0.97, 1.09, 5), "keep, weak evidence"),
        (TunedRatio(1.014, 1.004, 1.024), TunedRatio(1.03, 1.002, 1.06, 5), "keep"),
        # What fresh instances gainsay is not shown, whatever the screening saw.
        (TunedRatio(1.084, 1.068, 1.099), TunedRatio(0.96, 0.94, 0.98, 5), "keep, weak evidence"),
        (None, TunedRatio(1.03, 0.97, 1.09, 5), "keep, weak evidence"),
    ],
)
def test_a_part_is_weak_where_neither_the_screening_nor_fresh_instances_show_it(
    screened: TunedRatio | None, alone: TunedRatio | None, decision: str
) -> None:
    name = "ini.opcache.jit=tracing"
    found = structs.replace(
        FOUND,
        screening=Screening(2, 4, 5, 4, 0.015, effects=(ChangeEffect(name, "helps", screened),)),
        parts=(PartFound(name, JIT, alone, kept=True, reason=""),),
        settings=JIT,
    )
    table = tune_answer(record(found), RUN).table
    assert table is not None
    assert table.rows[0].cells[2] == decision


def test_what_was_taken_back_says_why_and_offers_nothing() -> None:
    fault = confirmed(decision="not adopted", reason="it answers differently now and then")
    answer = tune_answer(record(Found(confirmations=(fault,))), RUN)
    assert answer.result == (
        "no change is adopted: the best one brought 6.8 % less CPU per request (95 % CI 5.8 to 7.7 %) (it answers differently now and then)"
    )
    assert answer.standing == "bad"


def test_what_is_adopted_by_throughput_is_told_beside_and_the_best_of_them() -> None:
    one = confirmed("web.workers=2", settings={"web.workers": "2"}, goal="throughput", ratio=TunedRatio(1.05, 1.02, 1.08, 9), aa=None)
    both = confirmed(
        "web.workers=2 + pool.pm=static",
        settings={"web.workers": "2", "pool.pm": "static"},
        goal="throughput",
        ratio=TunedRatio(1.12, 1.08, 1.16, 9),
        aa=None,
    )
    found = structs.replace(FOUND, loaded=(one, both), settings={**FOUND.settings, **both.settings})
    words = "web.workers=2 + pool.pm=static: 12.0 % more requests per second (95 % CI 8.0 to 16.0 %)"
    assert tune_answer(record(found), RUN).beside[-1] == words
    alone = tune_answer(record(Found(loaded=(one, both), settings=both.settings)), RUN)
    assert alone.result == "12.0 % more requests per second (95 % CI 8.0 to 16.0 %)"
    assert alone.beside == ("web.workers=2 + pool.pm=static",)


def test_many_kept_changes_fit_on_the_screen_and_unmeasured_ones_have_no_bound() -> None:
    effects = (
        *(ChangeEffect(f"ini.kept{each}=1", "helps", TunedRatio(1.03, 1.01, 1.05)) for each in range(12)),
        ChangeEffect("ini.open=1", "unknown", None),
    )
    parts = tuple(PartFound(f"ini.kept{each}=1", {}, TunedRatio(1.02, 1.01, 1.03, 5), kept=True, reason="") for each in range(12))
    found = structs.replace(FOUND, screening=Screening(15, 4, 5, 4, 0.015, effects=effects), parts=parts, loaded=())
    answer = tune_answer(record(found), RUN).fitted()
    assert answer.lines <= MOST_LINES
    assert answer.table is not None
    assert answer.table.rest.endswith("more: keep; 1 other, not decided: leave out")


def test_notes_make_room_for_the_changes_that_stay() -> None:
    names = [f"ini.kept{each}=1" for each in range(4)]
    effects = tuple(ChangeEffect(name, "helps", TunedRatio(1.03, 1.01, 1.05)) for name in (*names, "ini.other=1"))
    parts = tuple(PartFound(name, {}, TunedRatio(1.02, 1.01, 1.03, 5), kept=True, reason="") for name in names)
    found = structs.replace(FOUND, screening=Screening(5, 4, 5, 4, 0.015, effects=effects), parts=parts)
    answer = tune_answer(record(found), RUN)
    fitted = answer.fitted()
    assert len(answer.notes) > len(fitted.notes), "all fits: this shows nothing"
    assert fitted.lines <= MOST_LINES
    assert fitted.table is not None
    assert [row.cells[0] for row in fitted.table.rows] == [name.removeprefix("ini.") for name in names]
    assert fitted.notes[-1].startswith("Noise check")
