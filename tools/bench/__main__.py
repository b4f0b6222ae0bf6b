"""`make bench`: measure, keep each finished section, write docs/benchmarks.md.

    python -m tools.bench [--only SECTION] [--fresh] [--quick]

A section that was measured before at the same commit on the same machine is kept: a bench that was
cut short goes on where it stopped.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence

import msgspec

from phpdyno.cli.interrupts import end_in_order
from phpdyno.errors import DynoError
from phpdyno.host.preflight import warnings_for
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import MAX_STEAL
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import nginx_version
from tools.bench.builds import best_build, builds, ladder
from tools.bench.figures import Figure, measured_text, reached
from tools.bench.load import load_core, runner_share, speed
from tools.bench.load.rivals import INSTALLS, rival_version
from tools.bench.page import render_page
from tools.bench.results import QUICK, Part, Room, SectionResult, Sizes, Stamp, Store, still_holds
from tools.bench.sections import bottle, carry_over, connectors, everyday, explain, newcomer, sizing, truth, tuning, watching
from tools.bench.stamp import ROOT, take_background, take_host, take_stamp
from tools.bench.stand import control_arm
from tools.long_tests import COVERAGE, RECORD, coverage_words, read, table

PAGE = ROOT / "docs" / "benchmarks.md"
SECTIONS = ROOT / "docs" / "benchmarks"
"""What the page is made from; committed with it, so that a section that another machine measured
stays."""
KEPT = ROOT / "runs" / "bench"
REHEARSED = ROOT / "runs" / "bench-quick"
BACKGROUND_WARNING = 0.1

TITLES = {
    "everyday": "Everyday",
    "bottle": "Bottle",
    "load-core": "Load core",
    "runner": "Runner",
    "truth": "Truth",
    "carry-over": "Carry-over",
    "speed": "Speed for the user",
    "tune": "Tune",
    "builds": "Builds",
    "ladder": "Ladder",
    "best-build": "Best build",
    "connectors": "Connectors",
    "sizing": "Sizing",
    "explain": "Explain",
    "watch": "Watch",
    "newcomer": "Newcomer",
}
MEASURES: dict[str, Callable[[Sizes, Room], list[Figure]]] = {
    "everyday": everyday.measure,
    "bottle": bottle.measure,
    "load-core": load_core.measure,
    "runner": runner_share.measure,
    "truth": truth.measure,
    "carry-over": carry_over.measure,
    "speed": speed.measure,
    "tune": tuning.measure,
    "builds": builds.measure,
    "ladder": ladder.measure,
    "best-build": best_build.measure,
    "connectors": connectors.measure,
    "sizing": sizing.measure,
    "explain": explain.measure,
    "watch": watching.measure,
    "newcomer": newcomer.measure,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 measured (targets missed included: they are findings), 1 a section failed, 130
    interrupted."""
    options = _parser().parse_args(argv)
    store, sizes = (Store(REHEARSED), QUICK) if options.quick else (Store(KEPT, SECTIONS), Sizes())
    os.umask(0o022)
    end_in_order()
    stamp = take_stamp(take_host())
    chosen, failed = options.only or list(TITLES), False
    if options.fresh or options.quick:
        for name in chosen:
            store.forget(name)
    for name in chosen:
        try:
            _one_section(name, store, stamp, sizes)
        except DynoError as error:
            print(f"bench: {name} failed: {error}", file=sys.stderr)
            failed = True
    results = {name: result for name in TITLES if (result := store.load(name)) is not None}
    page = render_page(date=time.strftime("%Y-%m-%d"), stamp=stamp, titles=TITLES, results=results)
    if options.quick:
        print(f"\n{page}\nbench: a rehearsal: none of these figures is worth anything")
    else:
        PAGE.write_text("\n".join([page, table(read(RECORD)), coverage_words(COVERAGE)]))
        print(f"bench: see docs/{PAGE.name}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(TITLES), help="this section and no other (more than once if you like)")
    parser.add_argument("--fresh", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--quick", action="store_true", help="a rehearsal with tiny sizes that writes no page")
    return parser


def _one_section(name: str, store: Store, stamp: Stamp, sizes: Sizes) -> None:
    kept = store.load(name)
    if kept is not None and still_holds(kept, stamp, sizes):
        print(f"bench: {name}: kept from {kept.date} (--fresh measures it anew)", flush=True)
        return
    room = store.room(name, lambda text: print(f"bench: {name}: {text}", flush=True))
    result = _measure(name, room, stamp, sizes)
    store.save(result)
    for figure in result.figures:
        print(f"bench: {name}: {figure.name}: {measured_text(figure)}: {reached(figure)}", flush=True)
    for text in result.skipped:
        print(f"bench: {name}: not measured: {text}", flush=True)


def _measure(name: str, room: Room, stamp: Stamp, sizes: Sizes) -> SectionResult:
    date, host, background = time.strftime("%Y-%m-%d %H:%M"), take_host(), take_background()
    start = time.monotonic()
    figures = MEASURES[name](sizes, room)
    return SectionResult(
        name=name,
        stamp=stamp,
        sizes=sizes,
        date=date,
        took_s=time.monotonic() - start,
        background=background,
        figures=tuple(figures),
        versions={} if room.parts else _versions(),
        warnings=_warnings_of(room.parts) if room.parts else _warnings(host, background),
        skipped=tuple(room.skipped),
        parts=tuple(room.parts),
    )


def _warnings(host: HostFacts, background: float) -> tuple[str, ...]:
    """The product's own warnings, but for the load average, in which our last section is still
    heard."""
    busy = (f"something else was using {100 * background:.0f} % of a core",) if background > BACKGROUND_WARNING else ()
    return warnings_for(msgspec.structs.replace(host, load_1min=0.0), MAX_STEAL) + busy


def _warnings_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """What parts were measured under; how the host is now says nothing of those that were kept."""
    return tuple(dict.fromkeys(text for part in parts for text in part.warnings))


def _versions() -> dict[str, str]:
    rivals = {name: seen for name in INSTALLS if (seen := rival_version(name))}
    return {"PHP": control_arm().php.version, "nginx": nginx_version(), "MariaDB": Database.version(), **rivals}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("bench: interrupted; finished sections are kept", file=sys.stderr)
        sys.exit(130)
