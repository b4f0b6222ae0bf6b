"""The stacks that are measured, started with the project's own classes: whatever happens, they end
with the supervisor."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from phpdyno._native import OUTCOMES
from phpdyno.apps.data.databases import database_socket, live_datadir
from phpdyno.apps.registry import open_app
from phpdyno.drive.driver import NativeDriver
from phpdyno.drive.requests import native_targets
from phpdyno.errors import DynoError
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import Cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.paths import cache_dir
from phpdyno.servers.bench import Bench
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.instance import Instance
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.arms import make_arms
from tools.bench.results import Say

KILOBYTE = "kilobyte.txt"
SIZED = "sized.php"
SIZED_CODE = """<?php
/* hello with a Content-Length: ab speaks HTTP/1.0, where a body of unknown length ends the connection. */
ob_start();
require __DIR__ . '/index.php';
header('Content-Length: ' . ob_get_length());
"""


class Stand(Struct, frozen=True):
    """An app on a bench, nothing of it started but its database."""

    supervisor: Supervisor
    app: PreparedApp
    bench: Bench


@contextmanager
def prepared(name: str, logs: Path, say: Say) -> Iterator[tuple[Supervisor, PreparedApp]]:
    """A built-in app in a live directory of its own; nothing is started yet."""
    with Supervisor(logs) as supervisor:
        yield supervisor, open_app(name).prepare(supervisor, cache=cache_dir(), progress=say)


@contextmanager
def standing(supervisor: Supervisor, app: PreparedApp, cores: Cores) -> Iterator[Stand]:
    """A bench for the app; once per supervisor."""
    with ExitStack() as stack:
        database = None if app.datadir is None else stack.enter_context(running_database(supervisor, app.datadir, cores))
        bench = Bench(supervisor, app, cores=cores, groups=find_cpu_groups(), transport="http", database=database)
        yield Stand(supervisor, app, bench)


@contextmanager
def running_database(supervisor: Supervisor, kept: Path, cores: Cores) -> Iterator[Database]:
    """A private MariaDB on a fresh copy of a prepared data directory."""
    datadir = live_datadir(supervisor, kept, "database")
    with Database.start(supervisor, datadir=datadir, socket_path=database_socket(supervisor), cores=cores.helpers) as database:
        yield database
    shutil.rmtree(datadir)


def control_arm(workers: int = 1) -> Arm:
    """The distribution's own PHP with our defaults, as `compare` makes it."""
    return make_arms("", (), aa=True, workers=workers).control


def require_answer(stand: Stand, instance: Instance) -> None:
    """Fetch the app's first target through nginx. Raises DynoError when the answer is not valid."""
    app = stand.app
    targets = native_targets(app.workload, "http", docroot=app.docroot, front_controller=app.front_controller, lengths={})
    driver = NativeDriver(instance.http, targets, keep_alive=False)
    answer = driver.fetch(0)
    driver.close()
    if OUTCOMES[answer.outcome] != "ok":
        raise DynoError(f"{app.name} does not answer: {OUTCOMES[answer.outcome]} {answer.status} {answer.detail}")


def add_pages(app: PreparedApp) -> None:
    """Put a static file of 1 kB and a hello that names its length beside the copy of hello."""
    (app.copied_docroot / KILOBYTE).write_text("k" * 1023 + "\n")
    (app.copied_docroot / SIZED).write_text(SIZED_CODE)


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Run this process, and what it starts meanwhile, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
