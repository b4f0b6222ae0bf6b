"""The operator's own running nginx: where its configuration is."""

import shlex
from itertools import pairwise
from pathlib import Path

from phpdyno.config.nginx_conf import ETC_NGINX, read_nginx
from phpdyno.errors import DynoError
from phpdyno.server_files.nginx_site import serving

_TITLE = "nginx: master process "


def running_configuration(proc: Path = Path("/proc")) -> Path:
    """The main configuration file of the nginx that runs here: the one it was started with by `-c`,
    else Debian's."""
    for status in sorted(proc.glob("[0-9]*/cmdline")):
        try:
            title = status.read_bytes().rstrip(b"\0 ").decode("utf-8", "surrogateescape")
        except OSError:
            continue
        if title.startswith(_TITLE) and (named := _named(title.removeprefix(_TITLE))):
            return named
    return ETC_NGINX / "nginx.conf"


def site_before(pool: str) -> str:
    """Where the running nginx has a server block that passes requests to the pool at this address;
    '' where none can be found. Nothing is asked of nginx."""
    try:
        found = serving(read_nginx(running_configuration()), pool)
    except DynoError:
        return ""
    return found[0].where if pool and found else ""


def _named(command: str) -> Path | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return next((Path(after) for word, after in pairwise(words) if word == "-c" and after.startswith("/")), None)
