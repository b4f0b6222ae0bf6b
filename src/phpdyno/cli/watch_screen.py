"""The live view in a terminal: drawn anew after each interval, within its width and height, nothing of it left at the end."""

import time
from collections import deque
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
        now = time.monotonic()
        lines = [next(view.advice(each)) for each in found] + ([f"! {together}"] if together else [])
        head = Text(f"{view.title(host, now - self._start)}", style="bold", no_wrap=True, overflow="ellipsis")
        body = self._blocks(pools) if len(pools) <= view.DETAILED else self._table(pools)
        advice = lines if len(pools) <= view.DETAILED else lines[-1:] if together else []
        foot: list[RenderableType] = [inert(f"so far: {line}", "cyan") for line in advice]
        foot += [inert(note, "dim") for note in self._notes]
        foot.append(Text("Ctrl-C ends it and gives the summary", style="dim"))
        self._live.update(Group(head, body, *foot), refresh=True)

    def _blocks(self, pools: tuple[PoolMoment, ...]) -> RenderableType:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for pool in pools:
            for number, (name, words) in enumerate(view.block(pool, pools)):
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
