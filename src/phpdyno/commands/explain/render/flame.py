"""A flame chart in HTML and CSS alone: no script, nothing from elsewhere, and its names can be
searched for as text. Pure."""

import html
import zlib
from collections.abc import Mapping, Sequence
from typing import Self

from phpdyno.model.inside.stacks import StackProfile
from phpdyno.report import words

NARROWEST = 0.003
"""Frames of a smaller share of the whole are left out: they would be thinner than a line."""
MOST_FRAMES = 2500
SHADES = 6
ROW_REM = 1.25
NOTABLE = 0.002
"""A difference of so much of the whole is coloured; of five and of twenty times as much, more
so."""
STEPS = (1, 5, 20)


class Node:
    """A function where it is called from here, with what it calls."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.whole = [0.0, 0.0]
        """Its share of the whole, own and called: in the profile, and in the one that it is held
        against."""
        self.own = 0.0
        self.calls: dict[str, Self] = {}

    def child(self, name: str) -> Self:
        """What it calls by this name."""
        if name not in self.calls:
            self.calls[name] = type(self)(name)
        return self.calls[name]


def tree_of(profile: StackProfile, base: StackProfile | None = None) -> Node:
    """All stacks as one tree, as shares of the profile's whole; `base` as shares of the same whole,
    by the time that a request takes."""
    root = Node("all")
    scale = base.request_us / profile.request_us if base and profile.request_us else 0.0
    for side, each, factor in ((0, profile, 1.0), (1, base, scale)):
        if each is None or not each.samples:
            continue
        for stack in each.stacks:
            share = factor * stack.samples / each.samples
            node = root
            node.whole[side] += share
            for frame in stack.frames:
                node = node.child(frame)
                node.whole[side] += share
            if side == 0:
                node.own += share
    return root


def flame(profile: StackProfile, base: StackProfile | None = None) -> str:
    """The chart as an element for a page that has `.flame` of report.css; '' for a profile without
    samples.

    Callers are above what they call, the widest first. With a `base`, colours say where more (warm)
    or less (cool) time goes than there.
    """
    if not profile.samples:
        return ""
    drawn: list[tuple[Node, int, float]] = []
    _lay(tree_of(profile, base), 0, 0.0, drawn)
    drawn.sort(key=lambda each: -each[0].whole[0])
    left_out = len(drawn) > MOST_FRAMES
    kept = drawn[:MOST_FRAMES]
    rows = 1 + max(depth for _, depth, _ in kept)
    kept.sort(key=lambda each: (each[1], each[2]))
    frames = "".join(_frame(node, depth, left, profile, base) for node, depth, left in kept)
    note = f"Parts below {100 * NARROWEST:.1f} % are not drawn" + (f", nor all of {len(drawn):,} frames." if left_out else ".")
    label = html.escape(words.visible(f"Flame chart of {profile.arm}, {_clock(profile)} time"), quote=True)
    chart = f'<div class="flame" role="group" aria-label="{label}" style="height:{rows * ROW_REM:g}rem">{frames}</div>'
    return f'<div class="scroll">{chart}</div><p class="muted">{note} Point at, or tap, a part for its figures.</p>'


def _lay(node: Node, depth: int, left: float, drawn: list[tuple[Node, int, float]]) -> None:
    """Places of a node and of all below it, in shares of the width; stacks may be deep, so no
    recursion."""
    waiting = [(node, depth, left)]
    while waiting:
        each, level, start = waiting.pop()
        if each.whole[0] < NARROWEST:
            continue
        drawn.append((each, level, start))
        for child in sorted(each.calls.values(), key=lambda called: (-called.whole[0], called.name)):
            waiting.append((child, level + 1, start))
            start += child.whole[0]


def _frame(node: Node, depth: int, left: float, profile: StackProfile, base: StackProfile | None) -> str:
    name = words.visible(node.name)
    said = f"{name}: {_share(node.whole[0])} of {_clock(profile)} time"
    if node.calls and node.own:
        said += f", itself {_share(node.own)}"
    if base is not None:
        difference = node.whole[0] - node.whole[1]
        said += f"; {'+' if difference > 0 else '−' if difference < 0 else ''}{_share(abs(difference))} against {words.visible(base.arm)}"
        shade = _heat(difference)
    else:
        shade = f"f{zlib.crc32(node.name.encode('utf-8', 'replace')) % SHADES}"
    style = f"left:{100 * left:.3f}%;width:{100 * node.whole[0]:.3f}%;top:{depth * ROW_REM:g}rem"
    title = html.escape(said, quote=True)
    return f'<div class="frame {shade}" tabindex="-1" style="{style}" title="{title}"><span>{html.escape(name)}</span></div>'


def _heat(difference: float) -> str:
    step = sum(abs(difference) >= NOTABLE * each for each in STEPS)
    return f"{'more' if difference > 0 else 'less'}{step}" if step else "same"


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _clock(profile: StackProfile) -> str:
    return "CPU" if profile.clock == "cpu" else "wall"


def flame_page(title: str, charts: Mapping[str, str], styles: str, notes: Sequence[str] = ()) -> str:
    """A whole page that needs no network and runs no script: `charts` are elements of `flame` by
    their headings, `styles` is report.css."""
    said = "".join(f'<p class="muted">{html.escape(words.visible(note))}</p>' for note in notes)
    sections = "".join(
        f"<section><h2>{html.escape(words.visible(heading))}</h2>{chart or '<p>No samples.</p>'}</section>"
        for heading, chart in charts.items()
    )
    shown = html.escape(words.visible(title))
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown}</title>\n<style>{styles}</style>\n</head>\n<body>\n<main>\n<header><h1>{shown}</h1>{said}</header>\n"
        f"{sections}\n</main>\n</body>\n</html>\n"
    )
