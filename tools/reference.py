"""The pages of docs/reference that are made from code. `python -m tools.reference` writes them; a
test says when that is due."""

import json
import sys
from pathlib import Path
from unittest.mock import patch

from msgspec import Struct

from phpdyno.bundle.manifest import Manifest
from phpdyno.cli.app import app
from phpdyno.commands.compare.view.document import json_schema, reference
from phpdyno.commands.connectors.found import LabFound
from phpdyno.commands.ladder.view import LadderView
from phpdyno.commands.matrix.view import MatrixView
from phpdyno.commands.measure.view.shape import SweepView
from phpdyno.commands.selfcheck.view import ChecksView
from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.study.view.shape import StudyView
from phpdyno.commands.tune.view import TuneView
from phpdyno.commands.watch.found import Advice, Event, HostMoment, PoolMoment
from phpdyno.commands.watch.render.metrics import metrics_table
from phpdyno.knobs.page import knobs_page
from phpdyno.model.inside.explained import Explained
from phpdyno.report.document import reference_page

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
STUDY = (
    "`phpdyno study --json` prints one document of the format `phpdyno.study/1`. This page is made from the code. Version 1 may gain",
    "fields; none changes its meaning or unit. Units are in the names: `_ms` milliseconds, `_s` seconds. Ratios are above 1 where the",
    "arm is better than the control, whichever the metric; a ratio is null until it has an interval.",
)
SELFCHECK = (
    "`phpdyno selfcheck --json` prints one document of the format `phpdyno.selfcheck/1`. This page is made from the code.",
    "Version 1 may gain fields; none changes its meaning or unit.",
)
MEASURE = (
    "`phpdyno measure --json` and `phpdyno report RUN --json` of a sweep print one document of the format `phpdyno.measure/1`. This page",
    "is made from the code. Version 1 may gain fields; none changes its meaning or unit. Units are in the names: `_ms` milliseconds, `_s`",
    "seconds, `_kib` KiB; CPU is in milliseconds per valid request. An interval holds for its figure by itself; where there is none, its",
    "ends are null.",
)
SIZE = (
    "`phpdyno size --json` and `phpdyno report RUN --json` of such a run print one document of the format `phpdyno.size/1`. This page is",
    "made from the code. Version 1 may gain fields; none changes its meaning or unit. Units are in the names: `_ms` milliseconds, `_s`",
    "seconds, `_kib` KiB, `_per_s` a second. An interval holds for its figure by itself; where there is none, its ends are null.",
)

TUNE = (
    "`phpdyno tune --json` and `phpdyno report RUN --json` of a tune print one document of the format `phpdyno.tune/1`. This page is made",
    "from the code. Version 1 may gain fields; none changes its meaning or unit. Units are in the names: `_ms` milliseconds, `_s` seconds,",
    "`_kib` KiB. Ratios are above 1 where the change is better, whatever the goal.",
)
LADDER = (
    "`phpdyno ladder --json` and `phpdyno report RUN --json` of a ladder print one document of the format `phpdyno.ladder/1`. This page is",
    "made from the code. Version 1 may gain fields; none changes its meaning or unit. Ratios are above 1 where the step is cheaper.",
)
CONNECTORS = (
    "`phpdyno connectors --json` prints one document of the format `phpdyno.connectors/1`. This page is made from the code. Version 1 may",
    "gain fields; none changes its meaning or unit. Ratios are above 1 where a row is faster than the control.",
)
MATRIX = (
    "`phpdyno matrix --json` and `phpdyno report RUN --json` of a matrix print one document of the format `phpdyno.matrix/1`. This page is",
    "made from the code. Version 1 may gain fields; none changes its meaning or unit. Ratios are above 1 where the profile helps.",
)
EXPLAIN = (
    "`phpdyno explain --json` and `phpdyno report RUN --json` of an explanation print one document of the format `phpdyno.explain/1`; with",
    "`--explain` it is a part of the documents of a comparison and of a tune. This page is made from the code. Version 1 may gain fields;",
    "none changes its meaning or unit. Each figure names its unit.",
)
BUNDLE = (
    "A bundle is a directory that `phpdyno tune` writes. [How to deploy one](../how-to/deploy-a-bundle.md). This page is made from the"
    " code.",
    "",
    "| command | does | exit code |",
    "|---|---|---|",
    "| `phpdyno bundle apply DIR` | places the files, tested, or changes nothing | 0, or 1 with the reason |",
    "| `phpdyno bundle verify DIR` | proves each setting on running workers; `--pool PROGRAM/POOL` says which, where the name alone does"
    " not | 0 where nothing is refuted and something is proved, else 1 |",
    "| `phpdyno bundle rollback [DIR]` | puts content, owner, mode and absence back; `--discard-edits`: also what was edited since"
    " | 0, or 1 |",
    "",
    "`--root DIR` names the tree of an image instead of this machine. `--reload SERVICE` (apply, rollback) reloads or restarts that"
    " service",
    "at the end; otherwise the commands are printed. `--unchecked` (apply, images only) places files without a test. A bundle that cannot"
    " be",
    "used (a checksum that does not match, another version of PHP, a machine that reserves another number of huge pages, a place that is"
    " none of a bundle's) ends with exit code 2.",
    "",
    "A rollback needs no bundle. What is applied to a tree is recorded in its `/var/lib/phpdyno/bundle` (format `phpdyno.applied/2`): what"
    " was there",
    "before, what was placed, which services have to follow. `DIR` only says which bundle is meant. Where it is gone or damaged the record"
    " counts, if the",
    "bundle was applied from there; without `DIR` whatever is applied is rolled back.",
    "",
    "| file | holds | is written where there is |",
    "|---|---|---|",
    "| `MANIFEST.json` | the document below | always |",
    "| `README.md` | what was proved, what to do | always |",
    "| `php/99-phpdyno.ini` | php.ini settings | one that no pool sets itself |",
    "| `pool/00-phpdyno.conf`; `pool/!OWN.conf` where the pool's own file, `OWN.conf`, would be read before that"
    " | php.ini settings and variables of the pool | a php.ini setting that the pool has a value of its own for, a variable |",
    "| `pool/zz-phpdyno.conf`; `pool/zzOWN.conf` where the pool's own file would be read after that"
    " | directives of the pool, and the variable PHPDYNO_POOL | a directive |",
    "| `nginx/phpdyno.conf` | directives of `http` | `web.fastcgi_buffers`, `web.fastcgi_buffer_size` or `web.access_log=off` |",
    "| `sysctl/99-phpdyno.conf` | settings of the kernel | a setting `os.vm.…`, `os.net.…`, `os.kernel.…` or `os.fs.…` |",
    "| `systemd/phpdyno.conf` | environment of php-fpm's service | a variable that is heeded when php-fpm starts |",
    "| `preload.php` | the preload script | one |",
    "| `based-on/…` | settings of the files that the control was read from, without comments and secrets | `--control live` |",
    "",
    "## What a manifest may say",
    "",
    "A manifest may come from anywhere, so apply takes what `phpdyno tune` writes and refuses all else, before anything is changed.",
    "",
    "| kind | its one directory | file name |",
    "|---|---|---|",
    "| `ini` | `php.ini_dir`: `conf.d` of a PHP (`/etc/php/8.2/fpm/conf.d`, not the command line's), a `php.d`, the directory of a packaged"
    " build (`/usr/lib/phpdyno/NAME/ini`) | `*.ini` |",
    "| `pool-first`, `pool-last` | `php.pool_dir`: `pool.d` or `fpm.d` of a PHP, a `php-fpm.d` | `*.conf` |",
    "| `nginx` | `/etc/nginx/conf.d` | `*.conf` |",
    "| `sysctl` | `/etc/sysctl.d` | `*.conf` |",
    "| `systemd` | `/etc/systemd/system/UNIT.service.d`, of the service `php.unit`, which has `php` or `fpm` in its name | `*.conf` |",
    "| `preload` | where `php.config` lies, in `/etc`, `/usr/local/etc` or an `etc` below `/opt` | `phpdyno-preload.php` |",
    "",
    "An operator's own places (`--control live`) are taken where the running pool `php.live` has them on this machine. Modes are 0644,"
    " 0640, 0600, 0444,",
    "0440 and 0400. Files for nginx, sysctl and systemd hold the settings that they carry and no line besides. `php.executable` is a"
    " program with `fpm` in its",
    "name that answers `-v` as PHP's FPM; `php.options` are `-n`, `-c`, `-p`, `-y` (or their long forms) with absolute paths, and `-d"
    " extension_dir=` of a",
    "packaged build. For root, that program, what its options and PHP_INI_SCAN_DIR name, and libraries in variables must be root's alone.",
    "",
    "`MANIFEST.json` is one document of the format `phpdyno.bundle/1`. Version 1 may gain fields; none changes its meaning.",
)
WATCH = (
    "`phpdyno watch --json` prints, and `--record FILE` appends, a line of JSON for each pool, for the host and for what happens, an",
    "interval at a time; at the end one of `type` `advice` for each pool. `type` says what a line is: `pool`, `host`, `event`, `advice`.",
    "With `--serve`, `/state.json` is one document with the newest of them: `host`, `pools`, `events`, `advice`. This page is made from",
    "the code. Lines may gain fields; none changes its meaning or unit. Units are in the names: `_s` seconds, `_kib` KiB, `_cores` cores",
    "(seconds per second).",
    "What no source tells is null, never 0. [How to watch production](../how-to/watch-production.md).",
    "",
    "## Metrics",
    "",
    "`--serve` has them at `/metrics`, in the text format of Prometheus or, where that is asked for, OpenMetrics. Labels are `pool` and",
    "`master` (the master's configuration file; where several masters have one of that name, with their cgroup), never a process number.",
    "Counters grow from the start of watching, over reloads; what php-fpm counts itself starts anew with it.",
    "",
    "| metric | kind | meaning |",
    "|---|---|---|",
    *(f"| `{name}` | {kind} | {text} |" for name, kind, text in metrics_table()),
)
COMMANDS = """# Commands and exit codes

What `phpdyno COMMAND --help` says, on one page. It is made from the code.

## Exit codes

| code | means |
|---|---|
| 0 | done, whatever was found, but for what the codes below name |
| 1 | a fault, or a budget that decides nothing; also a part of a study or an app of a matrix that failed, what goes on top of \
a ladder that was not measured, a target that a selfcheck \
did not reach, a test of `build --run-tests` that failed, a build that `--refresh` could not make anew, \
something essential that `doctor` misses, a setting that `bundle verify` refutes, an entry that `cache --clean NAME` does not remove, \
an app that `check` finds cannot be measured, a `watch` of which no pool is left |
| 2 | a command line or a file that cannot be used |
| 3 | `compare --fail-on regression`: a treatment regressed, the A/A arm included, or saves in PHP less than it costs elsewhere |
| 4 | `compare --require-verdict`: a treatment is inconclusive, or has no result at all (invalid, not effective) |
| 5 | `compare`: no treatment has a result (invalid, not effective); with `--fail-on regression` already where one has none |
| 130 | interrupted (Ctrl-C, SIGTERM, SIGHUP); the last line says how to go on. A `watch` ends so in order: with its summary, and 0 |

`--no-bottle`, with any command, measures an app in the open where no namespaces can be made ([what phpdyno does to your \
host](../explanation/what-phpdyno-does-to-your-host.md)).

`--allow-network HOST:PORT` (`[::1]:PORT` for IPv6), with any command and more than once if you like, lets the app reach \
this peer of the host's network, over TCP ([what that \
means](../explanation/what-phpdyno-does-to-your-host.md#a-peer-that-is-let-through)). A run that is resumed goes on with the peers \
that it began with.

A study or a selfcheck that ended is shown again by its own `--resume RUN`, everything else by `report RUN`.

"""


def commands_page() -> str:
    """What every command takes; the library shows how the running program was called, so it is
    told."""
    with patch.object(sys, "argv", ["phpdyno"]):
        return COMMANDS + app.generate_docs().partition("**Commands**:\n\n")[2]


def watch_page() -> str:
    """Metrics and all kinds of lines."""
    first = reference_page("What watching gives", WATCH, PoolMoment).replace("## The document", "## A line of type `pool`")
    kinds: tuple[type[Struct], ...] = (HostMoment, Event, Advice)
    return "\n".join([first, *map(_line_of, kinds)])


def _line_of(kind: type[Struct]) -> str:
    part = reference_page("", (), kind).partition("## The document")[2]
    return f"## A line of type `{kind.__struct_config__.tag}`{part}"


def pages() -> dict[str, str]:
    """File name to content."""
    return {
        "json.md": reference(),
        "commands.md": commands_page(),
        "bundle.md": reference_page("Bundles", BUNDLE, Manifest),
        "knobs.md": knobs_page(),
        "study-json.md": reference_page("The JSON of a study", STUDY, StudyView),
        "measure-json.md": reference_page("The JSON of a sweep", MEASURE, SweepView),
        "size-json.md": reference_page("The JSON of a run of size", SIZE, SizeFound),
        "tune-json.md": reference_page("The JSON of a tune", TUNE, TuneView),
        "ladder-json.md": reference_page("The JSON of a ladder", LADDER, LadderView),
        "connectors-json.md": reference_page("The JSON of a run of connectors", CONNECTORS, LabFound),
        "watch.md": watch_page(),
        "matrix-json.md": reference_page("The JSON of a matrix", MATRIX, MatrixView),
        "explain-json.md": reference_page("The JSON of an explanation", EXPLAIN, Explained),
        "selfcheck-json.md": reference_page("The JSON of a selfcheck", SELFCHECK, ChecksView),
        "compare.schema.json": json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
