"""Is an answer one that may be timed, and do two arms answer equally?"""

import re
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from phpdyno.answers.answer import Answer, excerpt
from phpdyno.answers.mask import Mask, WideMaskError, learn
from phpdyno.errors import DynoError
from phpdyno.journal.records import TargetAnswer
from phpdyno.model.workload import OPERATION_DONE, OPERATION_FAILED, Target

ERROR_PAGES = (
    (re.compile(rb"(?:Fatal|Parse) error(?:</b>)?:"), "PHP's fatal error"),
    (re.compile(rb"Error establishing a database connection"), "WordPress without its database"),
    (re.compile(rb"[Tt]here has been a critical error on this website"), "WordPress after a crash"),
)
WIDE_SLACK_BYTES = 4096
_INVISIBLE = re.compile(rb"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rb"<[^>]*>")


class Comparison(Struct, frozen=True):
    """The equal-answers check of one arm: one row per target, and one sentence."""

    equal: bool
    detail: str
    targets: tuple[TargetAnswer, ...]


class Expectation(Struct, frozen=True):
    """The standard that every arm is held to: the targets, and per target the control's answers and
    the mask learnt from them.

    `quoted` names the error pages that the control's own answers to a target quote: there they are
    no sign of an error.
    """

    targets: tuple[Target, ...]
    masks: tuple[Mask, ...]
    answers: tuple[tuple[Answer, ...], ...]
    quoted: tuple[frozenset[str], ...]

    def length_range(self, index: int) -> tuple[int, int]:
        """Least and greatest body length in bytes that a valid answer to a target can have.

        Where bodies are not compared, it is wide: half the shortest of the control's (yet not empty
        unless one was) to twice the longest.
        """
        if self.targets[index].answers == "body":
            return self.masks[index].length_range
        lengths = [len(answer.body) for answer in self.answers[index]]
        return max(min(lengths) // 2, min(1, *lengths)), 2 * max(lengths) + WIDE_SLACK_BYTES

    def fault(self, index: int, answer: Answer) -> str | None:
        """Why the answer to one target is not valid, whatever the control answers; None when it
        is."""
        return fault(self.targets[index], answer, self.quoted[index])

    def differs(self, index: int, answer: Answer) -> str | None:
        """None when the answer to one target is valid and equal to the control's, else what is
        wrong with it."""
        found = self.fault(index, answer)
        if found is not None:
            return found
        if self.targets[index].answers == "body":
            return self.masks[index].differs(answer)
        low, high = self.length_range(index)
        return None if low <= len(answer.body) <= high else f"a body of {len(answer.body)} bytes where {low} to {high} are expected"

    def relearn(self, index: int, extra: Sequence[Answer]) -> "Expectation":
        """Widen what is expected, now that the control was seen to answer one target in these ways
        too: a clock went on, a counter grew.

        Raises DynoError when one of them may not be timed, or when by now too much of the answer
        moves (WideMaskError).
        """
        target, quoted = self.targets[index], self.quoted[index]
        for answer in extra:
            _require_valid(target, answer, quoted)
        answers = tuple(dict.fromkeys((*self.answers[index], *extra)))
        return msgspec.structs.replace(
            self,
            masks=(*self.masks[:index], _mask(target, answers), *self.masks[index + 1 :]),
            answers=(*self.answers[:index], answers, *self.answers[index + 1 :]),
        )

    def compare(self, candidate: Sequence[Answer]) -> Comparison:
        """One arm's answers, one per target, against the control's."""
        rows, problems = [], []
        for index, (target, answer) in enumerate(zip(self.targets, candidate, strict=True)):
            problem = self.differs(index, answer)
            if problem is not None:
                problems.append(f"{target.label}: {problem}")
            masked = self.masks[index].masked_fraction if target.answers == "body" else 0.0
            rows.append(TargetAnswer(target.label, answer.status, len(answer.body), masked, target.answers))
        return Comparison(not problems, _sentence(problems, rows), tuple(rows))


def expect(targets: Sequence[Target], control: Sequence[Sequence[Answer]]) -> Expectation:
    """Learn from the control's answers, several per target. Raises DynoError when one may not be
    timed or too much of it moves."""
    masks, learnt, quoted = [], [], []
    for target, answers in zip(targets, control, strict=True):
        for answer in answers:
            require_valid(target, answer)
        distinct = tuple(dict.fromkeys(answers))
        learnt.append(distinct)
        masks.append(_mask(target, distinct))
        quoted.append(_quoted(target, answers))
    return Expectation(tuple(targets), tuple(masks), tuple(learnt), tuple(quoted))


def _mask(target: Target, answers: Sequence[Answer]) -> Mask:
    try:
        return learn(answers) if target.answers == "body" else Mask((b"",), (), 0.0)
    except WideMaskError as error:
        raise WideMaskError(error.what, where=target.label, next_step=error.next_step) from error


def _quoted(target: Target, answers: Sequence[Answer]) -> frozenset[str]:
    """Which error pages the control's answers look like where the target's declaration says that
    this is no error."""
    if target.answers == "body":
        return frozenset()
    return frozenset(name for pattern, name in ERROR_PAGES if any(pattern.search(answer.body) for answer in answers))


def compare(targets: Sequence[Target], control: Sequence[Sequence[Answer]], candidate: Sequence[Answer]) -> Comparison:
    """`expect` and `Expectation.compare` in one step."""
    return expect(targets, control).compare(candidate)


def require_valid(target: Target, answer: Answer) -> None:
    """Raise DynoError when this answer of the control may not be timed. Where only the status
    counts, it may quote an error page."""
    _require_valid(target, answer, _quoted(target, [answer]))


def _require_valid(target: Target, answer: Answer, quoted: Collection[str]) -> None:
    found = fault(target, answer, quoted)
    if found is not None:
        page = answer.status == target.status and target.answers == "body"
        hint = 'if the page only quotes it, declare answers = "status" for the target' if page and answer.body else ""
        if target.status != OPERATION_DONE:
            hint = hint or f"expected is status {target.status}"
        raise DynoError(f"this target cannot be timed: {found}", where=target.label, next_step=hint)


def fault(target: Target, answer: Answer, quoted: Collection[str] = ()) -> str | None:
    """Why an answer is not valid: another status, an empty page, an error page (none of `quoted`)
    that says 200; None when it is valid."""
    if (target.status, answer.status) == (OPERATION_DONE, OPERATION_FAILED):
        return f"it fails: {answer.body[:400].decode('utf-8', 'replace')}"
    if answer.status != target.status:
        return f"status {answer.status} instead of {target.status}{_explained(target, answer)}"
    if answer.undecoded and answer.coded in {"gzip", "deflate"}:
        return f"it says Content-Encoding: {answer.coded}, and cannot be decoded: {answer.undecoded}"
    if answer.status == 200 and not answer.body and target.method != "HEAD":
        return "status 200 with an empty body"
    if answer.status == 200:
        for pattern, name in ERROR_PAGES:
            match = None if name in quoted else pattern.search(answer.body)
            if match:
                return f"an error page with status 200 ({name}): {excerpt(_plain(answer.body[match.start() :][:400]), 160)}"
    return None


def _explained(target: Target, answer: Answer) -> str:
    if 300 <= answer.status < 400:
        location = next((value for name, value in answer.headers if name.lower() == "location"), "")
        return f" (it redirects to {location[:160]!r}{_as_it_wants(target, location)})" if location else " (a redirect without Location)"
    if answer.status >= 400:
        line = first_line(answer.body)
        return f" ({line})" if line else " (with an empty body)"
    return ""


def _as_it_wants(target: Target, location: str) -> str:
    """What to set where an app sends the very page that was asked for to another host, or to https;
    '' for any other redirect, and for one to the host that is asked unless another is named."""
    try:
        to = urlsplit(location)
    except ValueError:
        return ""
    page = (to.path or "/") + (f"?{to.query}" if to.query else "")
    if to.scheme not in {"http", "https"} or not to.netloc or page != target.path or location.startswith("http://localhost/"):
        return ""
    host = f"https://{to.netloc}" if to.scheme == "https" else to.netloc
    proxy = "; where it looks at X-Forwarded-Proto: forwarded_proto = true" if to.scheme == "https" else ""
    return f': ask for it so, by --host {host} or host = "{host}" in the app.toml{proxy}'


def first_line(body: bytes) -> str:
    """The first line of text that a reader would see, else the title, quoted; '' where there is
    none."""
    start = body[: 1 << 16]
    title = _TITLE.search(start)
    for part in (_INVISIBLE.sub(b"", start), title[1] if title else b""):
        lines = (b" ".join(line.split()) for line in _TAG.sub(b"\n", part).splitlines())
        line = next((each for each in lines if each), b"")
        if line:
            return excerpt(line, 160)
    return ""


def _plain(fragment: bytes) -> bytes:
    return b" ".join(_TAG.sub(b" ", fragment).split())


def _sentence(problems: Sequence[str], rows: Sequence[TargetAnswer]) -> str:
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return problems[0] + more
    targets = f"{len(rows)} target{'' if len(rows) == 1 else 's'}"
    masked = max((row.masked_fraction for row in rows), default=0.0)
    volatile = f"; up to {masked:.2%} of a body is volatile and left out" if masked else ""
    by_status = sum(row.compared == "status" for row in rows)
    declared = f"; {by_status} by status only" if by_status else ""
    return f"{targets} answered equally{volatile}{declared}"
