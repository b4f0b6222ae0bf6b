"""Prepared apps, served and looked at without phpdyno's own stack."""

import contextlib
import http.client
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from phpdyno.answers.answer import Answer
from phpdyno.apps.built_in.packages import candidate_versions
from phpdyno.apps.data.databases import live_datadir, serving
from phpdyno.drive.driver import NativeDriver
from phpdyno.drive.requests import native_targets
from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import split_cores
from phpdyno.model.app import PreparedApp
from phpdyno.server_files.php import render_ini, scan_path
from phpdyno.servers.bench import Bench
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.stack import plain_arm


@contextlib.contextmanager
def served(supervisor: Supervisor, app: PreparedApp, env: Mapping[str, str] | None = None) -> Iterator[tuple[int, Database | None]]:
    """The app on PHP's own server, as the servers' account; its port, and its database. `env` is
    set besides the app's own."""
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(serving(supervisor, live_datadir(supervisor, app.datadir))) if app.datadir else None
        place = str(database.socket) if database else ""
        fragment = supervisor.directory("serve", private=False)
        (fragment / "phpdyno.ini").write_text(render_ini({name: value.replace("{db_socket}", place) for name, value in app.ini.items()}))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        own = {name: value.replace("{db_socket}", place) for name, value in app.env.items()}
        child = supervisor.spawn(
            "php-s",
            [find_program("php"), "-S", f"127.0.0.1:{port}", "-t", str(app.docroot)],
            env={"PHP_INI_SCAN_DIR": scan_path(fragment), **own, **(env or {})},
            binds=app.binds,
        )
        stack.callback(child.stop)
        deadline = time.monotonic() + 10
        while child.alive() and time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.02)
        yield port, database


@contextlib.contextmanager
def on_the_bench(supervisor: Supervisor, app: PreparedApp) -> Iterator[DrivenInstance]:
    """One instance of the distribution's PHP with the app, on phpdyno's own stack over FastCGI."""
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(serving(supervisor, live_datadir(supervisor, app.datadir))) if app.datadir else None
        bench = Bench(supervisor, app, cores=split_cores(), groups=find_cpu_groups(), transport="fastcgi", database=database)
        (instance,) = stack.enter_context(bench.running([plain_arm("control")]))
        targets = native_targets(app.workload, "fastcgi", docroot=app.docroot, front_controller=app.front_controller, lengths={})
        yield DrivenInstance(instance, NativeDriver(instance.fastcgi, targets, keep_alive=False))


def fetch(port: int, app: PreparedApp) -> list[Answer]:
    """One answer to each of the app's targets."""
    return [ask(port, app, target.path) for target in app.workload.targets]


def ask(port: int, app: PreparedApp, path: str) -> Answer:
    """The answer to one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers={"Host": app.workload.host})
    response = connection.getresponse()
    # MediaWiki says how many milliseconds a page took: often the same in a few fetches, and learnt
    # by the answer check only when it first differs.
    body = re.sub(rb'"wgBackendResponseTime":\d+', b'"wgBackendResponseTime":0', response.read())
    answer = Answer(response.status, tuple(response.getheaders()), body)
    connection.close()
    return answer


def need_packages(packages: tuple[str, ...]) -> None:
    """Skip where apt has no lists; fail there when this is the CI, where nobody would notice."""
    try:
        candidate_versions(packages)
    except DynoError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


def check_read_only(tree: Path) -> None:
    """Everything in a tree is ours, can be read by all and written by us only, and is no link."""
    for path in [tree, *tree.rglob("*")]:
        mode = path.lstat().st_mode
        assert path.lstat().st_uid == os.geteuid()
        assert not path.is_symlink()
        assert not mode & 0o022, path
        assert mode & 0o044 == 0o044, path


def written(tree: Path) -> dict[Path, tuple[int, int]]:
    """When each file and directory of a tree was last written, and its size."""
    return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in tree.rglob("*")}
