"""Answers under load: compared whole by the load core, counted by arm; those that differ are looked
at between blocks, when the control can be asked."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES
from phpdyno.answers.answer import Answer
from phpdyno.answers.mask import WideMaskError
from phpdyno.drive.driver import Samples
from phpdyno.errors import DynoError
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.experiment.common.patterns import compared
from phpdyno.model.answered import AnswerCount

OK, WRONG_BODY = OUTCOMES.index("ok"), OUTCOMES.index("wrong_body")
WRONG_STATUS, WRONG_LENGTH = OUTCOMES.index("wrong_status"), OUTCOMES.index("wrong_length")
MOST_KEPT = 32
"""Different bodies of one arm and target that are kept until they can be looked at, and whole pages
of its own that a control may have besides the one that was learnt."""

AskControl = Callable[[int], bool]
"""Asks the control for a target; whether what is known of it has changed."""


class _Pending(Struct):
    """One arm's answers since they were looked at last: the targets answered in each slot, with
    whether bodies were looked at; by target, how many had another body than expected, and which."""

    slots: list[tuple[NDArray[np.uint32], bool]] = field(default_factory=list)
    differing: Counter[int] = field(default_factory=Counter)
    bodies: dict[int, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))
    failed: int = 0
    first: str = ""


class LoadedAnswers:
    """Takes the answers of every slot, and tells what they were, by arm."""

    def __init__(self, check: AnswerCheck) -> None:
        self._check = check
        self._pending: dict[str, _Pending] = defaultdict(_Pending)
        self._own: dict[int, set[bytes]] = defaultdict(set)
        """Whole pages that the control gave now and then, by target."""

    def take(self, arm: str, samples: Samples) -> None:
        """Count the answers of a slot. A differing body becomes an answer like any other here: it
        was given, and whether it is wrong is found out between blocks."""
        pending, outcome, target = self._pending[arm], samples.outcome, samples.target
        if not outcome.any():
            # Nearly always, and between two slots: counting waits.
            pending.slots.append((target, hasattr(samples, "different")))
            return
        failed = (outcome == WRONG_STATUS) | (outcome == WRONG_LENGTH)
        differs = outcome == WRONG_BODY
        pending.slots.append((target[(outcome == OK) | differs | failed], hasattr(samples, "different")))
        if failed.any():
            pending.failed += int(failed.sum())
            pending.first = pending.first or self._said(samples, int(np.flatnonzero(failed)[0]))
        if differs.any():
            pending.differing.update(_counts(target[differs]))
            for row, body in getattr(samples, "different", ()):
                kept = pending.bodies[int(target[row])]
                if body in kept or len(kept) < MOST_KEPT:
                    kept[body] += 1
            outcome[differs] = OK

    def _said(self, samples: Samples, row: int) -> str:
        label = self._check.known.targets[int(samples.target[row])].label if self._check.learnt else "a request"
        status = f"{label}: status {int(samples.status[row])}"
        return status if samples.outcome[row] == WRONG_STATUS else f"{status} with {int(samples.body_bytes[row])} bytes"

    def settle(self, control: str, ask: AskControl) -> Mapping[str, AnswerCount]:
        """What the answers since the last time were, by arm. The control's are looked at first:
        what it was seen to give is nobody's fault."""
        pending, self._pending = self._pending, defaultdict(_Pending)
        return {arm: self._count(arm, pending[arm], control == arm, ask) for arm in sorted(pending, key=lambda name: name != control)}

    def _count(self, arm: str, pending: _Pending, own: bool, ask: AskControl) -> AnswerCount:
        wrong, first = pending.failed, pending.first
        for index, differing in pending.differing.items():
            alike, found = self._look(index, pending.bodies[index], own, ask)
            if found:
                wrong += differing - alike
                first = first or f"{self._check.known.targets[index].label}: {found}"
        how: Counter[str] = Counter()
        whole = self._check.patterns_for(arm)
        for targets, seen in pending.slots:
            for index, count in _counts(targets).items():
                held = seen and self._check.known.targets[index].label in whole
                how[compared(self._check.known, index) if held else "by_length"] += count
        return AnswerCount(how["exact"], how["masked"], how["by_length"], wrong, first)

    def _look(self, index: int, bodies: Counter[bytes], own: bool, ask: AskControl) -> tuple[int, str]:
        """How many of the kept bodies are ones that the control gives, and what is wrong with the
        first of the others, '' where there is none."""
        alike, first = 0, ""
        for body, count in bodies.items():
            found = self._foreign(index, body)
            if found and own:
                found = self._take_own(index, body)
            elif found and ask(index):
                # A clock went on, and the control shows it by now as well.
                found = self._foreign(index, body)
            alike += 0 if found else count
            first = first or found
        return alike, first

    def _answer(self, index: int, body: bytes) -> Answer:
        known = self._check.known
        return Answer(known.targets[index].status, known.answers[index][0].headers, body)

    def _foreign(self, index: int, body: bytes) -> str:
        """What is wrong with a body, '' where the control was seen to give such a one."""
        return "" if body in self._own[index] else self._check.known.differs(index, self._answer(index, body)) or ""

    def _take_own(self, index: int, body: bytes) -> str:
        """Learn a body that the control has given; what makes it no page at all, else ''."""
        try:
            self._check.learn_more(index, self._answer(index, body))
        except WideMaskError:
            if len(self._own[index]) >= MOST_KEPT:
                return "too many different pages of the control's own"
            self._own[index].add(body)
        except DynoError as error:
            return error.what
        return ""


def _counts(targets: NDArray[np.uint32]) -> dict[int, int]:
    numbers, counts = np.unique(targets, return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))
