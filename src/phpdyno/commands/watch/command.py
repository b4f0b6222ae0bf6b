"""`phpdyno watch`: pools watched, shown as they are, recorded and served; a summary at the end."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from rich.console import Console

from phpdyno.commands.common.live import print_line
from phpdyno.commands.common.units import optional_seconds, seconds
from phpdyno.commands.watch import view
from phpdyno.commands.watch.found import Advice, Event, HostMoment, Line, PoolMoment
from phpdyno.commands.watch.judging.keeping import Keeper
from phpdyno.commands.watch.options import WatchOptions
from phpdyno.commands.watch.reading.watcher import Watcher
from phpdyno.commands.watch.render.recording import Recorder, read_recorded
from phpdyno.commands.watch.render.screen import Screen
from phpdyno.commands.watch.render.serving import Served, parse_address
from phpdyno.errors import UsageError
from phpdyno.report.terminal_parts import inert

LEAST_INTERVAL_S = 0.2
ADVICE_EVERY_S = 5.0
EXIT_NONE_LEFT = 1


class _Out:
    """Where lines go: the screen or lines of text, JSON, a record, whoever asks over HTTP."""

    def __init__(self, options: WatchOptions, stack: ExitStack, address: tuple[str, int] | None) -> None:
        self._json = options.json
        self._keeper = Keeper()
        self._advice: tuple[Advice, ...] = ()
        self._together = ""
        self._advised_at = float("-inf")
        self._console = Console()
        self._record = stack.enter_context(Recorder(options.record)) if options.record is not None else None
        self._served = stack.enter_context(Served(*address)) if address is not None else None
        if self._served is not None:
            at = f"http://{self._served.address}/"
            open_to_all = "" if self._served.is_local else "; whoever reaches this address sees it, without a password"
            print_line(Console(stderr=True), f"{at} shows this, {at}metrics is for Prometheus{open_to_all}")
        live = not options.json and self._console.is_terminal
        self._screen = stack.enter_context(Screen(self._console)) if live else None

    def missing(self, lines: Iterator[str]) -> None:
        """Tell what cannot be read, each line once."""
        for line in lines:
            if self._screen is not None:
                self._screen.note(line)
            else:
                print_line(Console(stderr=True), f"not read: {line}")

    def files(self, watcher: Watcher) -> None:
        """Keep what the pools' files say, for the summary."""
        for pool in watcher.pools:
            self._keeper.files(pool.master.pid, pool.shown, pool.directives, pool.process_max)

    def interval(self, host: HostMoment, pools: tuple[PoolMoment, ...], events: tuple[Event, ...]) -> None:
        """One interval and what happened in it."""
        self._keeper.add(host, pools)
        self._lines(*events, host, *pools)
        if host.at - self._advised_at >= ADVICE_EVERY_S:
            self._advised_at = host.at
            self._advice, self._together = tuple(self._keeper.advice()), self._keeper.together()
        if self._served is not None:
            self._served.put(host, pools, events, self._advice)
        if self._screen is not None:
            for each in events:
                self._screen.note(view.event(each))
            self._screen.draw(host, pools, self._advice, self._together)
        elif not self._json:
            for each in events:
                print_line(self._console, view.event(each))
            for pool in pools:
                print_line(self._console, view.line(pool, pools))
            sys.stdout.flush()

    def summary(self) -> None:
        """Tell at the end the range of each pool."""
        found = tuple(self._keeper.advice())
        self._lines(*found)
        if self._screen is not None:
            self._screen.end()
        if not self._json:
            show_summary(self._console, found, self._keeper.together())

    def _lines(self, *lines: Line) -> None:
        if self._record is not None:
            self._record.add(*lines)
        if self._json:
            for line in lines:
                sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
            sys.stdout.flush()


def run(options: WatchOptions) -> int:
    """Watch until the time is up, Ctrl-C, or no pool is left (1). Raises UsageError, DynoError."""
    if options.replay is not None:
        return _replay(options.replay, json=options.json)
    interval_s = seconds(options.interval, option="--interval")
    if interval_s < LEAST_INTERVAL_S:
        raise UsageError(f"an interval is {LEAST_INTERVAL_S} s at least", where="--interval", next_step="leave it out for 1s")
    lasting_s = optional_seconds(options.lasting, option="--for")
    address = None if options.serve is None else parse_address(options.serve)
    with ExitStack() as stack:
        watcher = stack.enter_context(Watcher(options.pool, ask=options.ask))
        out = _Out(options, stack, address)
        try:
            left = _watch(watcher, out, interval_s, lasting_s)
        except KeyboardInterrupt:
            left = True
        out.summary()
    if not left:
        print_line(Console(stderr=True), "phpdyno: no pool that was watched is left")
    return 0 if left else EXIT_NONE_LEFT


def _watch(watcher: Watcher, out: _Out, interval_s: float, lasting_s: float | None) -> bool:
    """Whether a pool is left."""
    out.missing(watcher.missing())
    out.files(watcher)
    start = due = time.monotonic()
    while lasting_s is None or due - start < lasting_s - 1e-9:
        due = min(due + interval_s, start + lasting_s) if lasting_s is not None else due + interval_s
        now = time.monotonic()
        if due < now:  # the host was suspended, or an interval took too long: none is made up for
            due = now + interval_s
        while (rest := due - time.monotonic()) > 0:
            time.sleep(min(rest, watcher.period_s))
            if rest > watcher.period_s:
                watcher.sample()
        host, pools = watcher.moment()
        out.interval(host, pools, watcher.events())
        out.missing(watcher.missing())
        out.files(watcher)
        if not pools and not watcher.pools:
            return False
    return True


def _replay(file: Path, *, json: bool) -> int:
    """The summary of what was recorded."""
    keeper = Keeper()
    ended: dict[tuple[int, str], Advice] = {}
    for host, pools, advice in read_recorded(file):
        if host is not None:
            keeper.add(host, pools)
        ended |= {(each.master, each.pool): each for each in advice}
    # What was recorded at the end knew the pools' files; a record that was cut short is summed up
    # anew.
    found = tuple(ended.get((each.master, each.pool), each) for each in keeper.advice())
    if json:
        for each in found:
            sys.stdout.write(msgspec.json.encode(each).decode() + "\n")
    else:
        show_summary(Console(), found, keeper.together())
    return 0


def show_summary(console: Console, found: tuple[Advice, ...], together: str) -> None:
    """Print it."""
    for line in view.summary(found, together):
        if console.is_terminal:
            console.print(inert(line))  # a terminal breaks lines between words
        else:
            print_line(console, line)
