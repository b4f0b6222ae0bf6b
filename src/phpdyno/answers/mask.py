"""Learning which spans of an answer are volatile, and comparing answers up to them."""

import functools
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from phpdyno.answers.align import align, tokens_of
from phpdyno.answers.answer import Answer, excerpt
from phpdyno.answers.gap import Gap, gap_of, whole_spans
from phpdyno.answers.headers import HeaderProfile, learn_headers
from phpdyno.errors import DynoError

MOST_MASKED = 0.05
CONTEXT_BYTES = 12
MOST_TRIALS = 4096


class Mask(Struct, frozen=True):
    """A body as stable literals with a volatile gap between each two of them, and the profile of
    its headers."""

    literals: tuple[bytes, ...]
    gaps: tuple[Gap, ...]
    masked_fraction: float
    headers: HeaderProfile | None = None

    @property
    def length_range(self) -> tuple[int, int]:
        """Least and greatest length in bytes of a body that can be equal."""
        fixed = sum(len(literal) for literal in self.literals)
        return fixed + sum(gap.low for gap in self.gaps), fixed + sum(gap.high for gap in self.gaps)

    def differs(self, answer: Answer | bytes) -> str | None:
        """None when equal up to the volatile spans, else the first difference in words: offset in
        bytes, expected and got.

        Bytes are compared as a body; of an Answer the headers too, never the status.
        """
        if isinstance(answer, bytes):
            return self._body_differs(answer)
        found = self._body_differs(answer.body)
        if found is None and self.headers is not None:
            found = self.headers.differs(answer.headers)
        return found

    def _body_differs(self, body: bytes) -> str | None:
        """Follows every way in which the gaps can be filled: `places` are the offsets where the
        literals so far can have ended."""
        first = self.literals[0]
        if not body.startswith(first) or (not self.gaps and body != first):
            return _difference(first, body, [0], [0])
        places = [len(first)]
        for number, gap in enumerate(self.gaps, 1):
            literal, pattern = self.literals[number], _pattern(gap)
            reaches = [match.end() for place in places if (match := pattern.match(body, place))]
            starts = [place + gap.low for place in places]
            found = _starts_of(literal, body, starts, reaches, last=number == len(self.gaps))
            if not found:
                return _difference(literal, body, starts, reaches)
            places = [place + len(literal) for place in found]
        return None


class WideMaskError(DynoError):
    """More of an answer moves by itself than may be left out of a comparison."""


def learn(answers: Sequence[Answer | bytes]) -> Mask:
    """Learn what the answers of one arm to one target have in common.

    One answer is enough; the more and the further apart in time the better.

    Raises WideMaskError, naming the longest span, when more than 5 % of a body is volatile.
    """
    bodies = [answer if isinstance(answer, bytes) else answer.body for answer in answers]
    headers = [answer.headers for answer in answers if isinstance(answer, Answer)]
    profile = learn_headers(headers) if headers else None
    distinct = list(dict.fromkeys(bodies))
    if len(distinct) == 1:
        return Mask((distinct[0],), (), 0.0, profile)
    literals, values = _stable_parts(distinct)
    fraction = max(sum(len(value[k]) for value in values) / max(1, len(body)) for k, body in enumerate(distinct))
    if fraction > MOST_MASKED:
        raise _too_wide(literals, values, fraction)
    return Mask(tuple(literals), tuple(gap_of(value) for value in values), fraction, profile)


def _stable_parts(bodies: Sequence[bytes]) -> tuple[list[bytes], list[list[bytes]]]:
    """Literals, and between each two of them what the gap held in each body."""
    tokens = [tokens_of(body) for body in bodies]
    offsets = [[0, *accumulate(len(token) for token in each)] for each in tokens]
    places = _common_places(tokens, offsets, bodies[0])
    literals, values = [b""], []
    before = [-1] * len(bodies)
    for place in [*places, [len(each) for each in tokens]]:
        between = [bodies[k][offsets[k][before[k] + 1] : offsets[k][at]] for k, at in enumerate(place)]
        if any(between):
            values.append(between)
            literals.append(b"")
        if place[0] < len(tokens[0]):
            literals[-1] += tokens[0][place[0]]
        before = place
    return literals, values


def _common_places(tokens: Sequence[Sequence[bytes]], offsets: Sequence[Sequence[int]], body: bytes) -> list[list[int]]:
    """The index of each stable token in every body. Of one live value (a date, a number) all
    tokens are stable, or none."""
    maps = [dict(align(tokens[0], other)) for other in tokens[1:]]
    count = len(tokens[0])
    stable = [all(k in each for each in maps) for k in range(count)]
    holes = _holes(stable, maps, offsets[0])
    for start, end in whole_spans(body, holes):
        k = bisect_right(offsets[0], start) - 1
        while k < count and offsets[0][k] < end:
            stable[k] = False
            k += 1
    return [[k, *(each[k] for each in maps)] for k in range(count) if stable[k]]


def _holes(stable: Sequence[bool], maps: Sequence[dict[int, int]], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Spans of the first body, in bytes, where some body differs; empty where others only have
    more."""
    holes = []
    before, at = -1, [-1] * len(maps)
    for k in range(len(stable)):
        if not stable[k]:
            continue
        here = [each[k] for each in maps]
        if k > before + 1 or any(now > then + 1 for now, then in zip(here, at, strict=True)):
            holes.append((offsets[before + 1], offsets[k]))
        before, at = k, here
    holes.append((offsets[before + 1], offsets[-1]))
    return holes


def _too_wide(literals: Sequence[bytes], values: Sequence[Sequence[bytes]], fraction: float) -> WideMaskError:
    widest = max(range(len(values)), key=lambda k: max(len(value) for value in values[k]))
    offset = sum(len(literals[k]) for k in range(widest + 1)) + sum(len(values[k][0]) for k in range(widest))
    shown = excerpt(max(values[widest], key=len))
    what = f"{fraction:.1%} of the body changes from one answer to the next (at most {MOST_MASKED:.0%} may)"
    return WideMaskError(
        f"{what}; longest span at byte {offset}: {shown}",
        next_step='make the page steadier, or declare answers = "status" for this target',
    )


@functools.lru_cache(maxsize=4096)
def _pattern(gap: Gap) -> re.Pattern[bytes]:
    members = b"".join(re.escape(bytes([byte])) for byte in sorted(gap.allowed))
    return re.compile(rb"[" + members + rb"]{0," + str(gap.high).encode() + rb"}")


def _starts_of(literal: bytes, body: bytes, starts: Sequence[int], reaches: Sequence[int], *, last: bool) -> list[int]:
    """Where `literal` stands in `body` so that a gap from one of `starts` to at most its reach ends
    there. Both rise together."""

    def reachable(place: int) -> bool:
        index = bisect_right(starts, place) - 1
        return index >= 0 and reaches[index] >= place

    if last:
        place = len(body) - len(literal)
        return [place] if place >= 0 and body.endswith(literal) and reachable(place) else []
    found = []
    place = body.find(literal, starts[0], reaches[-1] + len(literal))
    while place >= 0:
        if reachable(place):
            found.append(place)
        place = body.find(literal, place + 1, reaches[-1] + len(literal))
    return found


def _difference(literal: bytes, body: bytes, starts: Sequence[int], reaches: Sequence[int]) -> str:
    """The first difference in words, for the place where most of `literal` is found."""
    trials = [place for start, reach in zip(starts, reaches, strict=True) for place in range(start, reach + 1)][:MOST_TRIALS]
    trials.append(max(reaches))
    place = max(trials, key=lambda start: (_common_length(literal, body, start), start))
    common = _common_length(literal, body, place)
    back = max(0, common - CONTEXT_BYTES)
    expected = excerpt(literal[back:]) if common < len(literal) else "the end of the body"
    got = excerpt(body[place + back :]) if place + common < len(body) else "the end of the body"
    return f"the body differs at byte {place + common}: expected {expected}, got {got}"


def _common_length(literal: bytes, body: bytes, place: int) -> int:
    """How many bytes of `literal` stand in `body` at `place`, by bisection."""
    low, high = 0, min(len(literal), len(body) - place)
    while low < high:
        middle = (low + high + 1) // 2
        if body.startswith(literal[:middle], place):
            low = middle
        else:
            high = middle - 1
    return low
