"""Equal answers: learnt from the control before any timing, asked of every arm before and after
each block."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from phpdyno._native import OUTCOMES, BodyPattern
from phpdyno.answers.answer import Answer
from phpdyno.answers.check import Comparison, Expectation, expect
from phpdyno.answers.coding import CannotDecode, decoded, encodings
from phpdyno.answers.mask import WideMaskError
from phpdyno.answers.php_messages import php_messages
from phpdyno.drive.driver import Response
from phpdyno.drive.requests import LengthClass, length_class
from phpdyno.errors import DynoError
from phpdyno.experiment.common.patterns import patterns_of
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.journal.records import TargetAnswer
from phpdyno.model.notices import WARNING
from phpdyno.model.workload import Target, Workload

OK = 200
SERVER_BLOCK = """if they are different pages of your site, set its own nginx server block: nginx = "site.conf" in app.toml, or --nginx"""
LEARNING_FETCHES = 5
LEARNING_PAUSE_S = 1.1
ASKED_AGAIN = 4
"""How often arm and control are asked once more, in turn, for what differed after a block."""
COMPLETE = frozenset({"ok", "wrong_status", "wrong_length", "wrong_body"})


class Differing(Struct, frozen=True):
    """What is wrong with one answer. `lasting`: it is no page of the app's, by its status, text or
    length, or the arm differs again."""

    what: str
    lasting: bool


def one_page(targets: Sequence[Target], answers: Sequence[Answer], differs: Callable[[Answer], str | None]) -> str:
    """Says that all pages of an app are one and the same; '' where one `differs` from the first in
    more than what moves there, and where bodies are not compared."""
    if len(targets) < 2 or any(each.answers != "body" or each.status != OK or not each.path.startswith("/") for each in targets):
        return ""
    if any(map(differs, answers[1:])):
        return ""
    which = f"{targets[0].label} and {targets[1].label}" if len(targets) == 2 else f"all {len(targets)} targets"
    size = f"{len(answers[0].body):,} bytes"
    return f"{WARNING}{which} answer the very same page ({size}); {SERVER_BLOCK}"


class AnswerCheck:
    """Knows what the control answers. `lengths` holds the length class of each target's label once
    it is learnt, `patterns` what the bodies of those look like that can be compared whole under
    load, `turns` how often what is known has changed; `contended` says what went wrong with first
    requests because several instances made theirs at once, '' while nothing did.

    A page may have a rare variant (a banner, a notice) that was not among the answers learnt, and
    any arm may be the first to show it: a single answer that differs, and does not again, is told
    (`passing`) and blamed on nobody.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._expectation: Expectation | None = None
        self.lengths: dict[str, LengthClass] = {}
        self.patterns: dict[str, BodyPattern] = {}
        self.turns = 0
        self.contended = ""
        self._sent: dict[tuple[str, str], list[int]] = {}
        self._said: set[tuple[str, str]] = set()
        self._said_in_pages: list[str] = []
        self._remarks: list[str] = []
        self._passing: list[str] = []
        self._once: set[tuple[str, int]] = set()

    def passing(self) -> list[str]:
        """Answers that differed once and not again, since this was asked last."""
        told, self._passing = self._passing, []
        return told

    @property
    def learnt(self) -> bool:
        """Whether `learn` was called."""
        return self._expectation is not None

    def remarks(self) -> list[str]:
        """What is strange about all answers together, since this was asked last."""
        told, self._remarks = self._remarks, []
        return told

    def said_in_pages(self) -> list[str]:
        """Warnings and errors of PHP that stand in answers, each once, since this was asked
        last."""
        told, self._said_in_pages = self._said_in_pages, []
        return told

    def lengths_of(self, arm: str) -> dict[str, LengthClass]:
        """The length class of each target's label for one arm: where it compresses its answers,
        around the lengths of those that it gave."""
        own = {label: length_class(sent) for (name, label), sent in self._sent.items() if name == arm}
        return {**self.lengths, **{label: bounds for label, bounds in own.items() if label in self.lengths}}

    def patterns_for(self, arm: str) -> dict[str, BodyPattern]:
        """The patterns of one arm's bodies, by label: none where it compresses its answers and the
        control does not, since equal pages may be packed differently."""
        return {label: pattern for label, pattern in self.patterns.items() if (arm, label) not in self._sent}

    @property
    def known(self) -> Expectation:
        """What is known of the control's answers. Raises RuntimeError before `learn`."""
        return self._known

    @property
    def _known(self) -> Expectation:
        if self._expectation is None:
            raise RuntimeError("nothing was learnt from the control yet")
        return self._expectation

    def learn(self, control: DrivenInstance) -> tuple[TargetAnswer, ...]:
        """Fetch every target several times from the control, over more than a second so that a
        clock shows.

        Raises DynoError for an answer that may not be timed.
        """
        targets = self._workload.targets
        answers: list[list[Answer]] = [[] for _ in targets]
        for turn in range(LEARNING_FETCHES):
            if turn == LEARNING_FETCHES - 1:
                time.sleep(LEARNING_PAUSE_S)
            for index in range(len(targets)):
                answers[index].append(self._fetch(control, index, targets[index].label))
        try:
            self._know(expect(targets, answers))
        except WideMaskError:
            raise
        except DynoError as error:
            # The page does not say what its server knows.
            why = control.instance.complaint()
            if not why or why in error.what:
                raise
            raise DynoError(f"{error.what}: {why}", where=error.where, next_step=error.next_step) from error
        if words := one_page(targets, [several[-1] for several in answers], partial(self._known.differs, 0)):
            self._remarks.append(words)
        return self._known.compare([several[0] for several in answers]).targets

    def _know(self, expectation: Expectation) -> None:
        self._expectation = expectation
        self.lengths |= {each.label: length_class(expectation.length_range(index)) for index, each in enumerate(expectation.targets)}
        self.patterns = patterns_of(expectation)
        self.turns += 1

    def learn_more(self, index: int, answer: Answer) -> None:
        """Widen what is known by an answer of the control's. Raises DynoError as
        `Expectation.relearn`."""
        self._know(self._known.relearn(index, [answer]))

    def check(self, driven: DrivenInstance, control: DrivenInstance, given: Sequence[Response], *, at_once: bool) -> Comparison:
        """What one arm has answered to every target once, compared with the control's answers.

        `at_once`: it was asked while others were. An answer that differs only then is noted in
        `contended`, and the arm is asked again; as first requests are made one at a time from then
        on, an arm whose first answer always differs is found when it has differed in two blocks one
        after the other. Raises RequestFailed where it gave no answer.
        """
        answers = [self._judged(driven, control, index, response, at_once=at_once) for index, response in enumerate(given)]
        return self._known.compare(answers)  # not before: asking may extend what is known

    def _judged(self, driven: DrivenInstance, control: DrivenInstance, index: int, response: Response, *, at_once: bool) -> Answer:
        first = self.complete(driven, index, response, at_once=at_once)
        found = self._known.differs(index, first)
        here = (driven.instance.arm.name, index)
        if not found:
            self._once.discard(here)
            return first
        before = self._known
        alone = self._ask(driven, control, index)
        if self._known is not before or self._known.differs(index, alone):
            return alone
        if at_once:
            self.contended = f"{self._workload.targets[index].label} differs when it is asked for while others are, and not alone: {found}"
            return alone
        # Where the control by now differs as well, the mask learns that instead of blaming the arm.
        if self._relearn(control, index):
            return self._ask(driven, control, index)
        if here in self._once:
            return first
        self._once.add(here)
        self._passing.append(f"{self._workload.targets[index].label} differed in a first answer, and not when it was asked again: {found}")
        return alone

    def complete(self, driven: DrivenInstance, index: int, response: Response, *, at_once: bool) -> Answer:
        """A whole answer. Raises RequestFailed where there is none; `at_once`: noted in `contended`
        too."""
        try:
            return self._seen(driven, self._workload.targets[index].label, response)
        except RequestFailed as failure:
            if at_once:
                self.contended = failure.what
            raise

    def still_differs(self, driven: DrivenInstance, control: DrivenInstance, turn: int) -> str:
        """One target, another at every turn, asked of an arm that was equal before; what differs
        again and again, or ''."""
        index = turn % len(self._workload.targets)
        label = self._workload.targets[index].label
        answer = self._ask(driven, control, index)  # first: it may extend what is known
        found = self._known.differs(index, answer)
        if not found:
            return ""
        for _ in range(ASKED_AGAIN):
            again = self._known.differs(index, self._ask(driven, control, index))
            if again and self._known.differs(index, answer):
                return f"{label}: {again}"
        if self._known.differs(index, answer):
            self._passing.append(f"{label} differed once in {ASKED_AGAIN + 1} answers after a block: {found}")
        return ""

    def differing(self, driven: DrivenInstance, control: DrivenInstance, index: int) -> Differing | None:
        """Ask an arm for one target; what is wrong with that very answer, None where nothing is.
        Raises RequestFailed where it gives none."""
        answer = self._fetch(driven, index, self._workload.targets[index].label)
        found = self._known.differs(index, answer)
        if found and self._relearn(control, index):
            found = self._known.differs(index, answer)
        if not found:
            return None
        if invalid := self._known.fault(index, answer) or self._outside(index, answer):
            return Differing(invalid, lasting=True)
        again = self._known.differs(index, self._ask(driven, control, index))
        return Differing(again or found, lasting=again is not None)

    def _outside(self, index: int, answer: Answer) -> str:
        """Says that an answer is too short or too long to be a page that has something to announce;
        '' for any other."""
        bounds, size = self.lengths[self._workload.targets[index].label], len(answer.body)
        return "" if bounds.least <= size <= bounds.most else f"{size} bytes where {bounds.least} to {bounds.most} are expected"

    def _ask(self, driven: DrivenInstance, control: DrivenInstance, index: int) -> Answer:
        """One answer. Where it differs and the control by now differs from itself as well (a clock,
        a counter), the mask learns that."""
        label = self._workload.targets[index].label
        answer = self._fetch(driven, index, label)
        if self._known.differs(index, answer) and self._relearn(control, index):
            answer = self._fetch(driven, index, label)
        return answer

    def _fetch(self, driven: DrivenInstance, index: int, label: str) -> Answer:
        return self._seen(driven, label, driven.driver.fetch(index))

    def _seen(self, driven: DrivenInstance, label: str, response: Response) -> Answer:
        """A whole answer, with its messages of PHP noted, and of a compressed one its length as it
        was sent, which is what is looked at under load. Raises RequestFailed where there is
        none."""
        answer = _complete(driven, label, response)
        for message in php_messages(answer.body):
            if (label, message) not in self._said:
                self._said.add((label, message))
                self._said_in_pages.append(f"{label} shows a message of PHP: {message}")
        if answer.sent_bytes is not None:
            self._sent.setdefault((driven.instance.arm.name, label), []).append(answer.sent_bytes)
        return answer

    def ask_control(self, control: DrivenInstance, index: int) -> bool:
        """Ask the control for a target once more; whether what is known has changed by it. An
        answer that cannot be learnt changes nothing."""
        try:
            return self._relearn(control, index)
        except WideMaskError:
            return False

    def _relearn(self, control: DrivenInstance, index: int) -> bool:
        """Ask the control once; whether it differs by now from what is known, which is then
        extended."""
        label = self._workload.targets[index].label
        now = self._fetch(control, index, label)
        if not self._known.differs(index, now):
            return False
        self.learn_more(index, now)
        return True


def _complete(driven: DrivenInstance, label: str, response: Response) -> Answer:
    if OUTCOMES[response.outcome] not in COMPLETE:
        detail = ": ".join(part for part in (OUTCOMES[response.outcome], response.detail) if part)
        raise RequestFailed(driven.instance, f"{label} gets no answer: {detail}")
    return answer_of(response)


def answer_of(response: Response) -> Answer:
    """A whole response as data to compare."""
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    codings = encodings(headers)
    if not codings or not response.body:
        return Answer(response.status, headers, response.body)
    coded, sent = ", ".join(codings), len(response.body)
    try:
        return Answer(response.status, headers, decoded(response.body, codings), coded, sent)
    except CannotDecode as error:
        return Answer(response.status, headers, response.body, coded, sent, str(error))
