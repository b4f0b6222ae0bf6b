"""Which tokens of two bodies correspond, found in nearly linear time on pages that differ in a few
places."""

import difflib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

SMALL = 64
"""Up to this many items on each side difflib may look at what has no anchor; it is quadratic."""
DEPTH = 40
"""Nested anchoring ends here; a page never gets this far, bytes made to annoy us might."""

Pairs = list[tuple[int, int]]
"""(i, j), rising in both: item i of the one is item j of the other."""

_TOKEN = re.compile(rb"[A-Za-z0-9_\x80-\xff]+|\s+|.", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")


def tokens_of(body: bytes) -> list[bytes]:
    """Words and numbers (maximal runs, bytes above 0x7f included), white space runs, and single
    other bytes; joined they are the body."""
    return _TOKEN.findall(body)


def align(one: Sequence[bytes], two: Sequence[bytes]) -> Pairs:
    """Pairs of equal tokens. Where the structure is the same and only words differ, by position;
    else lines first, then tokens."""
    if _same_shape(one, two):
        return [(k, k) for k in range(len(one)) if one[k] == two[k]]
    lines_one, lines_two = _lines(one), _lines(two)
    text_one = [b"".join(one[start:end]) for start, end in lines_one]
    text_two = [b"".join(two[start:end]) for start, end in lines_two]
    pairs: Pairs = []
    i = j = 0
    for k, m in [*_align(text_one, text_two), (len(lines_one), len(lines_two))]:
        start_one, end_one = lines_one[k] if k < len(lines_one) else (len(one), len(one))
        start_two, _ = lines_two[m] if m < len(lines_two) else (len(two), len(two))
        pairs += [(i + a, j + b) for a, b in _align(one[i:start_one], two[j:start_two])]
        pairs += [(start_one + n, start_two + n) for n in range(end_one - start_one)]
        i, j = end_one, start_two + end_one - start_one
    return pairs


def _align(one: Sequence[bytes], two: Sequence[bytes], depth: int = 0) -> Pairs:
    head = _common(one, two)
    tail = _common(one[head:][::-1], two[head:][::-1])
    end_one, end_two = len(one) - tail, len(two) - tail
    pairs = [(k, k) for k in range(head)]
    pairs += [(head + i, head + j) for i, j in _middle(one[head:end_one], two[head:end_two], depth)]
    return pairs + [(end_one + k, end_two + k) for k in range(tail)]


def _middle(one: Sequence[bytes], two: Sequence[bytes], depth: int) -> Pairs:
    if not one or not two or depth > DEPTH:
        return []
    if _same_shape(one, two):
        return [(k, k) for k in range(len(one)) if one[k] == two[k]]
    anchors = _anchors(one, two, most=1) or _anchors(one, two, most=len(one))
    if anchors:
        return _between(one, two, anchors, depth)
    if len(one) <= SMALL and len(two) <= SMALL:
        blocks = difflib.SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks()
        return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]
    return []


def _between(one: Sequence[bytes], two: Sequence[bytes], anchors: Pairs, depth: int) -> Pairs:
    pairs: Pairs = []
    i = j = 0
    for k, m in [*anchors, (len(one), len(two))]:
        pairs += [(i + a, j + b) for a, b in _align(one[i:k], two[j:m], depth + 1)]
        if k < len(one):
            pairs.append((k, m))
        i, j = k + 1, m + 1
    return pairs


def _same_shape(one: Sequence[bytes], two: Sequence[bytes]) -> bool:
    """Whether both are equal but for words that stand at the same places."""
    if len(one) != len(two):
        return False
    return all(a == b or (_WORD.fullmatch(a) and _WORD.fullmatch(b)) for a, b in zip(one, two, strict=True))


def _lines(tokens: Sequence[bytes]) -> list[tuple[int, int]]:
    """(start, end) of each line in tokens; a line ends with the white space token that holds its
    line break."""
    ends = [k + 1 for k, token in enumerate(tokens) if b"\n" in token]
    if not ends or ends[-1] != len(tokens):
        ends.append(len(tokens))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _common(one: Sequence[bytes], two: Sequence[bytes]) -> int:
    """Length of the common beginning."""
    length = min(len(one), len(two))
    return next((k for k in range(length) if one[k] != two[k]), length)


def _anchors(one: Sequence[bytes], two: Sequence[bytes], *, most: int) -> Pairs:
    """The longest rising chain (patience sorting) of items that occur equally often, at most `most`
    times, on both sides."""
    count_one, count_two = Counter(one), Counter(two)
    shared = {item for item, count in count_one.items() if count <= most and count_two[item] == count}
    listed: dict[bytes, list[int]] = {item: [] for item in shared}
    for j, item in enumerate(two):
        if item in shared:
            listed[item].append(j)
    places = {item: iter(each) for item, each in listed.items()}
    return _longest_chain([(i, next(places[item])) for i, item in enumerate(one) if item in shared])


def _longest_chain(found: Pairs) -> Pairs:
    """The longest part of `found`, which rises in i, that also rises in j."""
    tops: list[int] = []
    piles: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(found):
        pile = bisect_left(tops, j)
        previous.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [j]
        piles[pile : pile + 1] = [index]
    chain: Pairs = []
    index = piles[-1] if piles else -1
    while index >= 0:
        chain.append(found[index])
        index = previous[index]
    return chain[::-1]
