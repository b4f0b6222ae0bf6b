"""Answers under load, counted by arm: which of them differ, and whose they are."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from phpdyno._native import OUTCOMES, BodyPattern
from phpdyno.experiment.common import answer_check as check_file
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.loaded_answers import LoadedAnswers
from phpdyno.experiment.common.patterns import compared, patterns_of
from phpdyno.model.answered import AnswerCount
from phpdyno.model.workload import Target, Workload
from tests.unit.experiment.common.test_answer_check import PAGE, SALE, driven

CODE = {name: code for code, name in enumerate(OUTCOMES)}
WRUNG = PAGE.replace(b"page", b"pale", 1)


def clocked(second: int) -> bytes:
    return PAGE.replace(b"<body>", f"<body><p>12:00:{second:02}</p>".encode())


def samples(outcomes: Sequence[str], bodies: Sequence[bytes] = (), status: int = 200) -> Any:
    """A slot of these outcomes; `bodies` are those of its wrong ones."""
    codes = np.asarray([CODE[each] for each in outcomes], dtype=np.uint8)
    rows = np.flatnonzero(codes == CODE["wrong_body"]).tolist()
    return SimpleNamespace(
        outcome=codes,
        target=np.zeros(codes.size, dtype=np.uint32),
        status=np.full(codes.size, status, dtype=np.uint16),
        body_bytes=np.full(codes.size, 7, dtype=np.uint64),
        different=list(zip(rows, bodies, strict=False)),
    )


def wrong(*bodies: bytes, right: int = 0) -> Any:
    return samples(["ok"] * right + ["wrong_body"] * len(bodies), bodies)


def learnt(monkeypatch: pytest.MonkeyPatch, *pages: bytes, answers: Any = "body") -> AnswerCheck:
    monkeypatch.setattr(check_file, "LEARNING_PAUSE_S", 0.0)
    check = AnswerCheck(Workload((Target("/", answers=answers),)))
    check.learn(driven("control", *pages))
    return check


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> AnswerCheck:
    return learnt(monkeypatch, PAGE)


def settled(answers: LoadedAnswers, check: AnswerCheck, *control: bytes) -> dict[str, AnswerCount]:
    lane = driven("control", *(control or (PAGE,)))
    return dict(answers.settle("control", lambda index: check.ask_control(lane, index)))


def test_every_answer_is_counted_by_arm_and_by_how_it_was_compared(check: AnswerCheck) -> None:
    answers = LoadedAnswers(check)
    answers.take("control", samples(["ok"] * 5))
    answers.take("arm", samples(["ok"] * 3))
    answers.take("arm", samples(["ok", "timed_out", "abandoned"]))
    assert settled(answers, check) == {"control": AnswerCount(exact=5), "arm": AnswerCount(exact=4)}
    assert settled(answers, check) == {}


def test_a_body_of_the_treatment_alone_is_wrong_and_the_first_is_named(check: AnswerCheck) -> None:
    answers = LoadedAnswers(check)
    answers.take("control", samples(["ok"] * 12))
    slot = wrong(WRUNG, right=11)
    answers.take("arm", slot)
    found = settled(answers, check)
    assert (found["arm"].total, found["arm"].wrong, found["control"].wrong) == (12, 1, 0)
    assert found["arm"].first.startswith("/: the body differs at byte ")
    # It was answered: no failure of the slot, which measured what it measured.
    assert not slot.outcome.any()


def test_what_the_control_gives_under_load_is_nobodys_fault(check: AnswerCheck) -> None:
    answers = LoadedAnswers(check)
    answers.take("arm", wrong(SALE, SALE, right=50))
    answers.take("control", wrong(SALE, right=50))
    assert [each.wrong for each in settled(answers, check).values()] == [0, 0]
    # From then on it is known.
    answers.take("arm", wrong(SALE))
    assert settled(answers, check)["arm"].wrong == 0


def test_a_whole_other_page_of_the_controls_is_known_but_hides_nothing(check: AnswerCheck) -> None:
    maintenance = b"<html>" + b"back in a minute " * 80 + b"</html>"
    answers = LoadedAnswers(check)
    answers.take("control", wrong(maintenance, right=50))
    answers.take("arm", wrong(maintenance, WRUNG, right=50))
    found = settled(answers, check)
    assert (found["control"].wrong, found["arm"].wrong) == (0, 1)


def test_a_clock_that_goes_on_is_learnt_from_the_control(monkeypatch: pytest.MonkeyPatch) -> None:
    check = learnt(monkeypatch, clocked(1))
    answers = LoadedAnswers(check)
    answers.take("arm", wrong(clocked(2)))
    before = check.turns
    # The control did not show it in a slot; asked now, it does.
    assert settled(answers, check, clocked(3))["arm"].wrong == 0
    assert check.turns > before
    assert compared(check.known, 0) == "masked"


def test_a_fault_behind_a_mask_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    check = learnt(monkeypatch, *(clocked(second) for second in (1, 2, 3, 14, 25)))
    (pattern,) = check.patterns.values()
    assert pattern.fits(clocked(59))
    assert not pattern.fits(clocked(59).replace(b"words", b"wards", 1))


def test_an_error_page_of_the_controls_is_no_page_to_learn(check: AnswerCheck) -> None:
    fatal = PAGE.replace(b"<body>", b"<body>Fatal error: out of memory")
    answers = LoadedAnswers(check)
    answers.take("control", wrong(fatal))
    answers.take("arm", wrong(fatal))
    found = settled(answers, check)
    assert (found["control"].wrong, found["arm"].wrong) == (1, 1)


def test_another_status_or_length_is_a_wrong_answer_too(check: AnswerCheck) -> None:
    answers = LoadedAnswers(check)
    slot = samples(["ok", "wrong_status"], status=500)
    answers.take("arm", slot)
    answers.take("arm", samples(["wrong_length"]))
    assert settled(answers, check)["arm"] == AnswerCount(exact=3, wrong=2, first="/: status 500")
    assert slot.outcome[1] == CODE["wrong_status"]  # and stays a failed request


def test_more_bodies_than_are_kept_are_wrong_as_those_were(check: AnswerCheck) -> None:
    answers = LoadedAnswers(check)
    answers.take("arm", samples(["wrong_body"] * 20, [WRUNG] * 8))
    assert settled(answers, check)["arm"].wrong == 20


def test_drivers_that_see_no_bodies_compare_by_length(check: AnswerCheck) -> None:
    answers = LoadedAnswers(check)
    slot = samples(["ok", "ok"])
    del slot.different
    answers.take("arm", slot)
    assert settled(answers, check)["arm"] == AnswerCount(by_length=2)


def test_what_cannot_be_compared_whole_has_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    by_status = learnt(monkeypatch, PAGE, answers="status")
    assert (compared(by_status.known, 0), by_status.patterns) == ("by_length", {})
    still = learnt(monkeypatch, PAGE)
    assert isinstance(patterns_of(still.known)["/"], BodyPattern)
