"""Equal answers, against fake driven instances: which answers count, and what is asked again."""

from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno._native import OUTCOMES
from phpdyno.drive.driver import Response
from phpdyno.experiment.common import answer_check as answer_check_file
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.model.workload import Target, Workload

PAGE = b"<html><body>" + b"<p>some words of a page</p>" * 40 + b"</body></html>"
SALE = PAGE.replace(b"</body>", b"<p>Sale!</p></body>")


def response(body: bytes = PAGE, outcome: str = "ok", status: int = 200) -> Response:
    found: Any = SimpleNamespace(
        outcome=OUTCOMES.index(outcome), status=status, headers=[(b"Content-Type", b"text/html")], body=body, detail=""
    )
    told: Response = found
    return told


class FakeDriven:
    """Answers with one body after another, the last for ever."""

    def __init__(self, name: str, *bodies: bytes) -> None:
        self.instance = SimpleNamespace(arm=SimpleNamespace(name=name), complaint=str, crashes=str, broken=str)
        self.driver = self
        self.bodies = list(bodies)
        self.asked = 0

    def fetch(self, _: int) -> Response:
        self.asked += 1
        return response(self.bodies.pop(0) if len(self.bodies) > 1 else self.bodies[0])


def driven(name: str, *bodies: bytes) -> Any:
    return FakeDriven(name, *bodies)


@pytest.fixture
def answer_check(monkeypatch: pytest.MonkeyPatch) -> AnswerCheck:
    monkeypatch.setattr(answer_check_file, "LEARNING_PAUSE_S", 0.0)
    learnt = AnswerCheck(Workload((Target("/"),)))
    learnt.learn(driven("control", PAGE))
    return learnt


def test_an_equal_first_answer_is_not_asked_for_again(answer_check: AnswerCheck) -> None:
    control, treatment = driven("control", PAGE), driven("treatment", PAGE)

    assert answer_check.check(treatment, control, [response()], at_once=True).equal
    assert (control.asked, treatment.asked) == (0, 0)


def test_an_arm_that_also_differs_when_it_is_asked_alone_answers_differently(answer_check: AnswerCheck) -> None:
    other = PAGE.replace(b"words", b"wards")

    outcome = answer_check.check(driven("treatment", other), driven("control", PAGE), [response(other)], at_once=True)

    assert not outcome.equal
    assert "the body differs" in outcome.detail


def test_a_difference_that_is_gone_when_it_is_asked_alone_is_blamed_on_the_crowd(answer_check: AnswerCheck) -> None:
    locked = response(b"locked", "wrong_status", 500)

    assert answer_check.check(driven("treatment", PAGE), driven("control", PAGE), [locked], at_once=True).equal
    assert answer_check.contended.startswith("/ differs when it is asked for while others are, and not alone: status 500")


def test_the_same_of_an_arm_that_was_asked_alone_is_its_own_when_it_comes_twice(answer_check: AnswerCheck) -> None:
    locked = response(b"locked", "wrong_status", 500)

    def equal(*, given: Response = locked, name: str = "treatment") -> bool:
        return answer_check.check(driven(name, PAGE), driven("control", PAGE), [given], at_once=False).equal

    assert equal()
    assert answer_check.passing() == ["/ differed in a first answer, and not when it was asked again: status 500 instead of 200 ('locked')"]
    assert equal(name="another treatment")
    assert not equal()
    assert not answer_check.contended


def test_a_first_answer_that_differs_now_and_then_is_no_fault(answer_check: AnswerCheck) -> None:
    banner = response(SALE)
    for given in (banner, response(), banner, response()):
        assert answer_check.check(driven("treatment", PAGE), driven("control", PAGE), [given], at_once=False).equal
    assert len(answer_check.passing()) == 2
    assert answer_check.passing() == []


@pytest.mark.parametrize(
    ("treatment", "control", "differs", "told"),
    [
        ((PAGE,), (PAGE,), False, 0),
        ((SALE,), (PAGE,), True, 0),
        ((SALE, PAGE, PAGE, SALE, PAGE), (PAGE,), True, 0),
        ((SALE, PAGE), (PAGE,), False, 1),
        ((SALE, PAGE), (SALE, PAGE), False, 0),
        # The control shows it a moment later.
        ((SALE, SALE, PAGE), (PAGE, SALE, PAGE), False, 0),
    ],
)
def test_after_a_block_an_arm_is_to_blame_for_what_differs_again(
    answer_check: AnswerCheck, treatment: tuple[bytes, ...], control: tuple[bytes, ...], differs: bool, told: int
) -> None:
    found = answer_check.still_differs(driven("treatment", *treatment), driven("control", *control), 7)
    assert bool(found) == differs
    assert len(answer_check.passing()) == told


@pytest.mark.parametrize("at_once", [True, False])
def test_a_first_request_without_an_answer_is_a_failed_request(answer_check: AnswerCheck, at_once: bool) -> None:
    with pytest.raises(RequestFailed, match="/ gets no answer: closed_early"):
        answer_check.check(driven("treatment", PAGE), driven("control", PAGE), [response(b"", "closed_early", 0)], at_once=at_once)
    assert bool(answer_check.contended) == at_once


@pytest.mark.parametrize("at_once", [True, False])
def test_a_clock_that_went_on_is_learnt_instead_of_blaming_the_arm(monkeypatch: pytest.MonkeyPatch, at_once: bool) -> None:
    monkeypatch.setattr(answer_check_file, "LEARNING_PAUSE_S", 0.0)
    at = {minute: PAGE.replace(b"</body>", b"<p>It is 19:%d</p></body>" % minute) for minute in (54, 55, 56)}
    answer_check = AnswerCheck(Workload((Target("/"),)))
    answer_check.learn(driven("control", at[54]))

    assert answer_check.check(driven("treatment", at[56]), driven("control", at[56]), [response(at[55])], at_once=at_once).equal


@pytest.mark.parametrize(
    ("targets", "bodies", "said"),
    [
        (("/", "/products/5"), (PAGE,), "Warning: / and /products/5 answer the very same page (1,106 bytes)"),
        (("/", "/a", "/b"), (PAGE,), "Warning: all 3 targets answer the very same page"),
        (("/", "/products/5"), (PAGE, SALE) * 5, ""),
        (("/",), (PAGE,), ""),
        (("ping", "select"), (PAGE,), ""),
    ],
)
def test_targets_that_all_answer_one_page_are_told(
    monkeypatch: pytest.MonkeyPatch, targets: tuple[str, ...], bodies: tuple[bytes, ...], said: str
) -> None:
    monkeypatch.setattr(answer_check_file, "LEARNING_PAUSE_S", 0.0)
    learnt = AnswerCheck(Workload(tuple(map(Target, targets))))
    learnt.learn(driven("control", *bodies))
    told = learnt.remarks()
    assert (len(told) == 1 and told[0].startswith(said)) if said else told == []


def test_a_page_whose_moving_part_differs_is_the_same_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_check_file, "LEARNING_PAUSE_S", 0.0)
    moving = [PAGE.replace(b"</body>", b"<i>token %08x</i></body>" % number) for number in range(100, 110)]
    learnt = AnswerCheck(Workload((Target("/"), Target("/products/5"))))
    learnt.learn(driven("control", *moving))
    assert "nginx = " in "".join(learnt.remarks())
