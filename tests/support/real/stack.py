"""Real instances for tests that look below the command."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from phpdyno.host.cgroup import CpuGroups, find_cpu_groups
from phpdyno.host.cores import split_cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import Transport
from phpdyno.model.workload import Target, Workload
from phpdyno.servers.bench import Bench
from phpdyno.servers.programs.php import default_fpm, inspect_php
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.command import site


@functools.cache
def installed_php() -> PhpBuild:
    """The distribution's php-fpm."""
    return inspect_php(default_fpm())


def plain_arm(name: str, settings: dict[str, str] | None = None) -> Arm:
    """An arm of the distribution's PHP."""
    return Arm(name, installed_php(), settings or {}, settings or {})


@contextmanager
def plain_bench(folder: Path, *, transport: Transport = "http", groups: CpuGroups | str | None = "find", **files: str) -> Iterator[Bench]:
    """A bench that serves a small site."""
    with Supervisor(folder / "logs") as supervisor:
        docroot = site(supervisor.live / "site", **files)
        app = PreparedApp("site", docroot, Workload((Target("/"),)))
        found = find_cpu_groups() if isinstance(groups, str) else groups
        yield Bench(supervisor, app, cores=split_cores(), groups=found, transport=transport)
