"""The live view in a terminal: drawn anew after each interval, within its width and height, nothing
of it left at the end."""

import time
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from phpdyno.commands.watch import view
from phpdyno.commands.watch.found import Advice, HostMoment, PoolMoment
from phpdyno.report.terminal_parts import inert

NOTES = 5
STYLE = {"nothing": "green", "unknown": "dim"}


class Screen:
    """While its context is open."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()
        self._notes: deque[str] = deque(maxlen=NOTES)
        self._live = Live(Text("looking"), console=console, auto_refresh=False, transient=True, vertical_overflow="crop")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        """A line below the pools, the last few of which stay."""
        self._notes.append(text)

    def end(self) -> None:
        """Give the terminal back; notes stay above what follows."""
        self._live.stop()
        for note in self._notes:
            self._console.print(inert(note), soft_wrap=True)

    def draw(self, host: HostMoment, pools: tuple[PoolMoment, ...], found: tuple[Advice, ...], together: str) -> None:
        """All of it."""
        lines = [next(view.advice(each)) for each in found] + ([f"! {together}"] if together else [])
        head = Text(view.title(host, time.monotonic() - self._start), style="bold", no_wrap=True, overflow="ellipsis")
        blocks = [list(view.block(pool, pools)) for pool in pools]
        # A line more for each pool, whose limit may take two; the title, the last line.
        room = self._console.height - 2 - sum(len(block) + 1 for block in blocks) - self._rows(f"so far: {line}" for line in lines)
        if len(pools) <= view.DETAILED and room >= 0:
            body = self._blocks(pools, blocks)
        else:
            lines, room = ([f"! {together}"] if together else []), NOTES
            body = self._table(pools)
        foot: list[RenderableType] = [inert(f"so far: {line}", "cyan") for line in lines]
        foot += [inert(note, "dim") for note in self._last(room)]
        foot.append(Text("Ctrl-C ends it and gives the summary", style="dim"))
        self._live.update(Group(head, body, *foot), refresh=True)

    def _rows(self, lines: Iterable[str]) -> int:
        """How many rows of the terminal these lines take."""
        return sum(-(-len(line) // self._console.width) for line in lines)

    def _last(self, room: int) -> list[str]:
        """The last notes that there is room for."""
        kept = list(self._notes)
        while kept and self._rows(kept) > room:
            kept.pop(0)
        return kept

    def _blocks(self, pools: tuple[PoolMoment, ...], blocks: list[list[tuple[str, str]]]) -> RenderableType:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for pool, block in zip(pools, blocks, strict=True):
            for number, (name, words) in enumerate(block):
                style = STYLE.get(pool.limit.kind, "yellow") if name.strip() == "limit now" else ""
                grid.add_row(inert(name, "bold" if not number else "dim"), inert(words, style))
        return grid

    def _table(self, pools: tuple[PoolMoment, ...]) -> RenderableType:
        """Rows for as many as there is room, those first that something limits."""
        room = max(3, self._console.height - 6 - len(self._notes))
        order = sorted(pools, key=lambda pool: (pool.limit.kind in {"nothing", "unknown"}, -(pool.active or 0.0)))
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for number, head in enumerate(view.HEADS):
            table.add_column(head, justify="left" if number in {0, 7} else "right", no_wrap=True, overflow="ellipsis")
        for pool in order[:room]:
            table.add_row(*map(inert, view.row(pool, pools)))
        rest = len(order) - room
        return Group(table, Text(f"and {rest} more", style="dim")) if rest > 0 else table
