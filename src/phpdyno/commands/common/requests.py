"""Where the requests of a measurement come from when they are not the app's own: an access log, or
a workload file."""

from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs
from rich.console import Console

from phpdyno.access_log.frequent import MOST_TARGETS
from phpdyno.access_log.reading import DEFAULT_TARGETS, read_access_log
from phpdyno.access_log.summary import LogSummary, workload_of
from phpdyno.access_log.words import summary_text, unread_words
from phpdyno.commands.common.live import print_line
from phpdyno.commands.common.options import RequestOptions
from phpdyno.config.app_toml import nginx_source
from phpdyno.config.values import absolute
from phpdyno.config.workload_toml import WorkloadFile, load_workload, save_workload
from phpdyno.errors import UsageError
from phpdyno.model.arrival import Arrival
from phpdyno.model.plan import AppSource, MeasuringTerms
from phpdyno.model.workload import Workload

_Request = TypeVar("_Request", bound=MeasuringTerms)
LARGE_BYTES = 16 << 20
"""A log from this size on takes a while to be read, which is said before."""
_PACKED = 10
"""An access log's size over that of its gzip file."""


class OwnRequests(Struct, frozen=True):
    """A workload that takes the place of the app's own, the file that it was made of (an absolute
    path, '' without one), and how requests arrived there (None where the file does not tell)."""

    workload: Workload | None = None
    file: str = ""
    arrival: Arrival | None = None


def with_requests(question: _Request, options: RequestOptions, console: Console) -> _Request:
    """The question with the requests of a log or a workload file, where one is named; read when all
    else is known to be in order."""
    own = own_requests(options, console)
    return structs.replace(question, workload=own.workload, source=asked_source(question.source, options, own))


def asked_source(source: AppSource, options: RequestOptions, own: OwnRequests) -> AppSource:
    """The source with the file of the requests, and with how they are to be asked: a host that was
    named, else https where the file says so."""
    https = f"https://{own.workload.host}" if own.workload is not None and own.workload.scheme == "https" else ""
    return structs.replace(
        source,
        requests=own.file,
        host=options.host or https,
        accept_encoding=options.accept_encoding,
        nginx=nginx_source(options.nginx or "", Path.cwd(), where="--nginx"),
    )


def own_requests(options: RequestOptions, console: Console) -> OwnRequests:
    """Read what was named, tell of a log what was left out, save it where that was asked for.
    Raises UsageError."""
    check_request_options(options)
    if options.workload is not None:
        file = absolute(Path(), str(options.workload), where="--workload")
        loaded = load_workload(file)
        return OwnRequests(loaded.workload, str(file), loaded.arrival)
    if options.from_log is None:
        return OwnRequests()
    log = absolute(Path(), str(options.from_log), where="--from-log")
    saved = absolute(Path(), str(options.save_workload), where="--save-workload") if options.save_workload else None
    _refuse_existing(saved)
    _ask_for_patience(log, console)
    most = options.most_targets or DEFAULT_TARGETS
    summary = read_access_log(log, most_targets=most, host=options.log_host, log_format=options.log_format)
    told = summary_text(summary)
    workload = workload_of(summary)
    console.print(told, markup=False, highlight=False, soft_wrap=True)
    if unread := unread_words(summary):
        console.print(f"note: {unread}", markup=False, highlight=False, soft_wrap=True)
    if saved is not None:
        _save(saved, workload, summary, told)
    return OwnRequests(workload, str(log), summary.arrival)


def check_request_options(options: RequestOptions) -> None:
    """Raise UsageError for options that do not belong together, or that cannot be; no file is
    looked at."""
    if options.from_log is not None and options.workload is not None:
        raise UsageError("both --from-log and --workload are given", next_step="give one of the two")
    if options.from_log is None:
        for name, value in (
            ("--log-host", options.log_host),
            ("--log-format", options.log_format),
            ("--most-targets", options.most_targets),
            ("--save-workload", options.save_workload),
        ):
            if value is not None:
                raise UsageError(f"{name} belongs to --from-log", where=f"{name} {value}", next_step="name an access log, or leave it out")
    if options.most_targets is not None and not 1 <= options.most_targets <= MOST_TARGETS:
        raise UsageError(f"{options.most_targets} is not from 1 to {MOST_TARGETS}", where="--most-targets")


def refuse_with_resume(options: RequestOptions) -> None:
    """Raise UsageError for requests of another source on a run that has its own."""
    if given := options.given or options.way:
        raise UsageError("a run that is resumed keeps its requests", where=f"--resume with {given}", next_step="leave that one out")


def _refuse_existing(path: Path | None) -> None:
    """A file that is there already is said before a long log is read; what else is wrong with its
    name, when it is written."""
    found = False
    with suppress(OSError, ValueError):
        found = path is not None and path.exists()
    if found:
        raise UsageError("exists already", where=f"--save-workload {path}", next_step="give another name, or remove it first")


def _ask_for_patience(log: Path, console: Console) -> None:
    """What is wrong with the log is said when it is read."""
    size = 0
    with suppress(OSError, ValueError):
        size = log.stat().st_size
    if size * (_PACKED if log.suffix == ".gz" else 1) >= LARGE_BYTES:
        print_line(console, f"reading {log} ({size >> 20:,} MiB)")


def _save(path: Path, workload: Workload, summary: LogSummary, told: str) -> None:
    save_workload(path, WorkloadFile(workload, summary.arrival), remarks=["made by phpdyno --save-workload", *told.splitlines()])
