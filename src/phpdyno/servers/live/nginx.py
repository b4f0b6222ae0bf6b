"""The operator's own running nginx: where its configuration is, of several that before a pool."""

import shlex
from itertools import pairwise
from pathlib import Path

from phpdyno.config.nginx_conf import ETC_NGINX, read_nginx
from phpdyno.errors import DynoError
from phpdyno.model.nginx import Directive
from phpdyno.server_files.nginx_site import serving

_TITLE = "nginx: master process "


def running_configurations(proc: Path = Path("/proc")) -> tuple[Path, ...]:
    """The main configuration files of all nginx that run here, each by what it was started with
    (`-c`); Debian's comes last."""
    found = []
    for status in sorted(proc.glob("[0-9]*/cmdline")):
        try:
            title = status.read_bytes().rstrip(b"\0 ").decode("utf-8", "surrogateescape")
        except OSError:
            continue
        if title.startswith(_TITLE) and (named := _named(title.removeprefix(_TITLE))):
            found.append(named)
    return tuple(dict.fromkeys([*found, ETC_NGINX / "nginx.conf"]))


def configuration_before(pool: str, proc: Path = Path("/proc")) -> Path:
    """The configuration of the running nginx that passes requests to the pool at this address; the
    first one where none does."""
    several = running_configurations(proc)
    return next((each for each in several if _blocks(each, pool)), several[0])


def site_before(pool: str) -> str:
    """Where the running nginx has a server block that passes requests to the pool at this address;
    '' where none can be found. Nothing is asked of nginx."""
    several = running_configurations() if pool else ()
    return next((found[0].where for each in several if (found := _blocks(each, pool))), "")


def _blocks(configuration: Path, pool: str) -> list[Directive]:
    try:
        return serving(read_nginx(configuration), pool)
    except DynoError:
        return []


def _named(command: str) -> Path | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return next((Path(after) for word, after in pairwise(words) if word == "-c" and after.startswith("/")), None)
