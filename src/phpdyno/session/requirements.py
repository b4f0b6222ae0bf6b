"""What a session needs before anything starts: installed servers, and no more load than they
take."""

import os
from collections.abc import Sequence
from pathlib import Path

from phpdyno.apps.folder import FolderApp
from phpdyno.apps.source import App
from phpdyno.errors import DynoError, UsageError
from phpdyno.knobs.catalogue import pool_ini
from phpdyno.knobs.domain import FALSE
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.model.workload import BROWSER_ENCODING, Workload
from phpdyno.server_files.apache import is_apache
from phpdyno.server_files.nginx import MOST_THROUGH_NGINX
from phpdyno.servers.apache import require_apache
from phpdyno.servers.programs.finding import find_program


def require_servers(transport: Transport, arms: Sequence[Arm]) -> None:
    """Raise DynoError where a server that these arms need is not installed, UsageError where an
    arm's server cannot be what it says."""
    if transport == "http" and not all(is_apache(arm) for arm in arms):
        find_program("nginx")
    for arm in arms:
        if is_apache(arm):
            require_apache(transport, arm)
        if not Path(arm.php.fpm).is_file():
            raise DynoError("this PHP is gone", where=arm.php.fpm)


def check_nginx(transport: Transport, in_flight: int) -> None:
    """Raise UsageError for more requests in flight than our nginx serves at once."""
    if transport == "http" and in_flight > MOST_THROUGH_NGINX:
        said = f"{in_flight} requests in flight are over {MOST_THROUGH_NGINX}, which our nginx serves at once"
        raise UsageError(said, next_step="ask for fewer, or measure with --transport fastcgi")


def refuse_without_nginx(app: App, transport: Transport, arms: Sequence[Arm]) -> None:
    """Raise UsageError for an app with its own server block that no nginx would serve."""
    if not isinstance(app, FolderApp) or app.site is None:
        return
    if transport != "http":
        what = f"the app has its own server block, and --transport {transport} goes past nginx"
        raise UsageError(what, where=app.site.file, next_step="measure with --transport http, or leave nginx out of the app.toml")
    for arm in arms:
        if is_apache(arm):
            what = "the app has its own server block for nginx, and this arm is served by Apache"
            raise UsageError(what, where=arm.name, next_step="leave nginx out of the app.toml to compare the two")


ACTS_ON_REQUESTS = frozenset({"zlib.output_compression", "brotli.output_compression", "zstd.output_compression"})
"""Settings of PHP that do nothing for a request that takes no compressed answer."""


def refuse_unasked(arms: Sequence[Arm], workload: Workload) -> None:
    """Raise UsageError for a treatment that only acts on what a request says of compression, where
    no request says a word."""
    if workload.accept_encoding or any(name.lower() == "accept-encoding" for target in workload.targets for name in target.headers):
        return
    for arm in arms:
        for key, value in arm.changed.items():
            if (pool_ini(key) or key.removeprefix("ini.")) in ACTS_ON_REQUESTS and value.strip().lower() not in FALSE:
                raise UsageError(
                    f"{key} acts on what a request says of compression, and these requests say nothing: it would change nothing",
                    where=arm.name,
                    next_step=f"ask as a browser does, with --accept-encoding '{BROWSER_ENCODING}'",
                )


def loaded_concurrency() -> int:
    """Requests in flight that saturate a host of this size: two for each core, as long as our nginx
    serves them at once."""
    return min(2 * len(os.sched_getaffinity(0)), MOST_THROUGH_NGINX)
