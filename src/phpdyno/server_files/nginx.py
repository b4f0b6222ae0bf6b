"""nginx.conf of an arm: one server in front of one pool."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

from phpdyno.config.nginx_conf import blocks
from phpdyno.knobs.domain import buffers_of, size_bytes
from phpdyno.model.nginx import Directive, NginxSite
from phpdyno.model.workload import Scheme
from phpdyno.server_files.fastcgi import SPLIT, nginx_params
from phpdyno.server_files.nginx_site import DOCROOT, PHP, ROOT, believed, placed, text_of, without

ACCESS_LOG = "access.log"
"""nginx's own in its directory, where an arm asks for one."""
UPSTREAM = "phpdyno"
BUFFER_DIRECTIVES = ("fastcgi_buffers", "fastcgi_buffer_size")
_PAGE = "4k"
"""nginx's default for each buffer: a page of memory, of 4 KiB on what we know."""
MARKED = ".phpdyno.invalid"
"""Behind the marker: the host that is asked for it."""
_HTTP = {
    "default_type": "application/octet-stream",
    "server_tokens": "off",
    "sendfile": "on",
    "client_body_buffer_size": "1m",
}
_TYPES = "    types { text/html html; text/css css; application/javascript js; image/png png; image/jpeg jpg jpeg; image/svg+xml svg; }\n"
CONNECTIONS = 1024
MOST_THROUGH_NGINX = 500
"""Each request in flight takes two of nginx's connections: its client's and php-fpm's."""


def render_nginx(
    *,
    listen: str,
    fastcgi: str,
    docroot: Path,
    front_controller: str,
    prefix: Path,
    marker: str,
    web: Mapping[str, str],
    scheme: Scheme = "http",
    site: NginxSite | None = None,
    root: Path | None = None,
    host: str = "localhost",
) -> str:
    """A complete configuration. `listen` is ADDRESS:PORT; `fastcgi` is `unix:/path` or
    ADDRESS:PORT; `prefix` holds nginx's own files; `site` is the app's own server block, for its
    `root` and its `host`.

    `marker` is the path below /.phpdyno/ that only this server answers with 204: a stranger on our
    port is not taken for it. The buffer for a request's body holds the largest that nginx takes:
    one that does not fit is written to a file, with a line in the log.
    """
    temporary = "\n".join(f"    {kind}_temp_path {prefix}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    kept = int(web.get("fastcgi_keepalive", "0"))
    upstream = f"\n    upstream {UPSTREAM} {{ server {fastcgi}; keepalive {kept}; }}" if kept else ""
    to = UPSTREAM if kept else fastcgi
    if site is None:
        beside = ""
        lines = _fastcgi_lines(web, kept=bool(kept))
        servers = _plain_server(listen, marker, docroot, front_controller, fastcgi=f"{to};{lines}", scheme=scheme)
    else:
        places = {DOCROOT: str(docroot), ROOT: str(root or docroot), PHP: to}
        beside = "".join(f'    map "" $phpdyno_{name} {{ default "{value}"; }}\n' for name, value in believed(scheme).items())
        beside += indent(text_of(placed(site.http, places)), "    ") + "\n"
        own, web = _with_buffers(site.server, web)
        block = text_of(placed(own, places))
        servers = _own_server(listen, marker, docroot, host, block=block, lines=_fastcgi_lines(web, kept=bool(kept)))
    theirs = {each.name for each in site.http} if site else set()
    ours = "".join(f"    {name} {value};\n" for name, value in _HTTP.items() if name not in theirs)
    types = "" if "types" in theirs else _TYPES
    return f"""worker_processes {web.get("workers", "1")};
pid {prefix}/nginx.pid;
error_log stderr warn;
events {{ worker_connections {CONNECTIONS}; }}
http {{
{temporary}
{types}    access_log {_access_log(prefix, web)};
{ours}{_redirects(scheme)}    keepalive_timeout 3600s;
    keepalive_requests 1000000;{upstream}
{beside}{servers}}}
"""


def _redirects(scheme: Scheme) -> str:
    """Redirects that nginx makes by itself name neither our port, which is drawn anew for each
    instance, nor a scheme that the app does not believe in."""
    return "    absolute_redirect off;\n" if scheme == "https" else "    port_in_redirect off;\n"


def _plain_server(listen: str, marker: str, docroot: Path, front_controller: str, *, fastcgi: str, scheme: Scheme) -> str:
    params = "\n".join(f"            fastcgi_param {name} {value};" for name, value in nginx_params(scheme))
    return f"""    server {{
        listen {listen};
        root {_quoted(docroot)};
        index {front_controller} index.html;
        location = /.phpdyno/{marker} {{ return 204; }}
        location / {{ try_files $uri $uri/ /{front_controller}$is_args$args; }}
        location ~ \\.php(/|$) {{
            fastcgi_split_path_info {SPLIT};
            # try_files resets $fastcgi_path_info, so it is kept before.
            set $path_info $fastcgi_path_info;
            try_files $fastcgi_script_name =404;
            fastcgi_pass {fastcgi}
{params}
        }}
    }}
"""


def _with_buffers(server: Sequence[Directive], web: Mapping[str, str]) -> tuple[Sequence[Directive], Mapping[str, str]]:
    """The server block without the buffers that an arm has its own of, and the arm's with those of
    the block that it says nothing of: they have to fit each other."""
    if web.keys().isdisjoint(BUFFER_DIRECTIVES):
        return server, web
    theirs = {name: " ".join(each.args) for name in BUFFER_DIRECTIVES for each in blocks(server, name)}
    return without(server, {*BUFFER_DIRECTIVES, "fastcgi_busy_buffers_size"}), {**theirs, **web}


def _own_server(listen: str, marker: str, docroot: Path, host: str, *, block: str, lines: str) -> str:
    """The app's own server, for whatever host is asked; the marker has a server for itself, as the
    app's may redirect every request."""
    root = "" if re.search(r"^root ", block, re.MULTILINE) else f"        root {_quoted(docroot)};\n"
    return f"""    server {{
        listen {listen} default_server;
        server_name {host};{lines}
{root}{indent(block, "        ")}
    }}
    server {{
        listen {listen};
        server_name {marker}{MARKED};
        location = /.phpdyno/{marker} {{ return 204; }}
    }}
"""


def _access_log(prefix: Path, web: Mapping[str, str]) -> str:
    wanted = web.get("access_log", "off").strip().lower()
    # Buffered lines are written when 64 KiB are together or five seconds old, as nginx's
    # documentation has it in its example.
    return "off" if wanted == "off" else f"{prefix}/{ACCESS_LOG} combined{' buffer=64k flush=5s' if wanted == 'buffered' else ''}"


def _fastcgi_lines(web: Mapping[str, str], *, kept: bool) -> str:
    """Lines for the location of PHP, each after a line break; none where the arm says nothing of
    it."""
    lines = ["fastcgi_keep_conn on;"] if kept else []
    lines += [f"{name} {value};" for name, value in fitting_buffers(web).items()]
    return "".join(f"\n            {line}" for line in lines)


def fitting_buffers(web: Mapping[str, str]) -> dict[str, str]:
    """The directives for buffers that an arm asks for, and those without which nginx would not
    start with them.

    nginx wants room for the busy ones, twice the larger of the first buffer and one of the others
    by default, in all of them but one. Where the arm says nothing of the others there are more of
    them; where it does, fewer are busy, as long as that is possible.
    """
    asked = {name: web[name].strip() for name in BUFFER_DIRECTIVES if name in web}
    first = size_bytes(asked.get("fastcgi_buffer_size", _PAGE)) or 0
    buffers = buffers_of(asked.get("fastcgi_buffers", f"8 {_PAGE}"))
    if buffers is None or not buffers[1]:
        return asked  # nginx says what is wrong with it
    count, one = buffers
    larger, room = max(first, one), (count - 1) * one
    if 2 * larger <= room:
        return asked
    if "fastcgi_buffers" in asked and larger <= room:
        return {**asked, "fastcgi_busy_buffers_size": str(room)}
    return {**asked, "fastcgi_buffers": f"{-(-2 * larger // one) + 1} {_kib(one)}"}


def added_buffers(web: Mapping[str, str]) -> str:
    """What nginx is given besides what an arm asks for, so that it starts; '' for nothing."""
    more = {name: value for name, value in fitting_buffers(web).items() if web.get(name, "").strip() != value}
    return ", ".join(f"{name} {value}" for name, value in more.items())


def _kib(size: int) -> str:
    return f"{size >> 10}k" if size % 1024 == 0 else str(size)


def _quoted(path: Path) -> str:
    """A path as nginx takes it literally. A dollar sign would start a variable and cannot be
    escaped: our copies have none."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
