"""Equal answers: learnt from the control before any timing, asked of every arm before and after each block."""

import time

from phpdyno._native import OUTCOMES
from phpdyno.answers.answer import Answer
from phpdyno.answers.check import Comparison, Expectation, expect
from phpdyno.drive.driver import Response
from phpdyno.drive.requests import LengthClass, length_class
from phpdyno.experiment.slot import Lane
from phpdyno.journal.records import TargetAnswer
from phpdyno.model.workload import Workload
from phpdyno.stack.instance import ArmFailed

LEARNING_FETCHES = 5
LEARNING_PAUSE_S = 1.1
COMPLETE = frozenset({"ok", "wrong_status", "wrong_length"})


class Gate:
    """Knows what the control answers. `lengths` holds the length class of each target's path once it is learnt."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._expectation: Expectation | None = None
        self.lengths: dict[str, LengthClass] = {}

    @property
    def learnt(self) -> bool:
        """Whether `learn` was called."""
        return self._expectation is not None

    @property
    def _known(self) -> Expectation:
        if self._expectation is None:
            raise RuntimeError("nothing was learnt from the control yet")
        return self._expectation

    def learn(self, control: Lane) -> tuple[TargetAnswer, ...]:
        """Fetch every target several times from the control, over more than a second so that a clock shows.

        Raises DynoError for an answer that may not be timed.
        """
        targets = self._workload.targets
        answers: list[list[Answer]] = [[] for _ in targets]
        for turn in range(LEARNING_FETCHES):
            if turn == LEARNING_FETCHES - 1:
                time.sleep(LEARNING_PAUSE_S)
            for index in range(len(targets)):
                answers[index].append(_fetch(control, index, targets[index].path))
        self._expectation = expect(targets, answers)
        for index, target in enumerate(targets):
            self.lengths[target.path] = length_class(self._expectation.length_range(index))
        return self._known.compare([several[0] for several in answers]).targets

    def check(self, lane: Lane, control: Lane) -> Comparison:
        """Every target once from one arm, compared with the control's answers."""
        answers = [self._ask(lane, control, index) for index in range(len(self._workload.targets))]
        return self._known.compare(answers)

    def still_differs(self, lane: Lane, control: Lane, turn: int) -> str:
        """One target, another at every turn, asked of an arm that was equal before; what differs, or ''."""
        index = turn % len(self._workload.targets)
        answer = self._ask(lane, control, index)  # first: it may extend what is known
        found = self._known.differs(index, answer)
        return f"{self._workload.targets[index].path}: {found}" if found else ""

    def _ask(self, lane: Lane, control: Lane, index: int) -> Answer:
        """One answer. Where it differs and the control by now differs from itself as well (a clock, a counter), the mask learns that."""
        path = self._workload.targets[index].path
        answer = _fetch(lane, index, path)
        if self._known.differs(index, answer):
            now = _fetch(control, index, path)
            if self._known.differs(index, now):
                self._expectation = self._known.relearn(index, [now])
                self.lengths[path] = length_class(self._expectation.length_range(index))
                answer = _fetch(lane, index, path)
        return answer


def _fetch(lane: Lane, index: int, path: str) -> Answer:
    response = lane.driver.fetch(index)
    if OUTCOMES[response.outcome] not in COMPLETE:
        detail = ": ".join(part for part in (OUTCOMES[response.outcome], response.detail, lane.instance.complaint()) if part)
        raise ArmFailed(lane.instance.arm, f"{path} gets no answer: {detail}")
    return _answer(response)


def _answer(response: Response) -> Answer:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    return Answer(response.status, headers, response.body)
