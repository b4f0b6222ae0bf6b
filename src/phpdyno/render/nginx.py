"""nginx.conf of an arm: one server in front of one pool."""

from collections.abc import Mapping
from pathlib import Path

from phpdyno.render.fastcgi import nginx_params


def render_nginx(
    *, listen: str, fastcgi: str, docroot: Path, front_controller: str, prefix: Path, marker: str, web: Mapping[str, str]
) -> str:
    """A complete configuration. `listen` is ADDRESS:PORT; `fastcgi` is `unix:/path` or ADDRESS:PORT; `prefix` holds nginx's own files.

    `marker` is the path below /.phpdyno/ that only this server answers with 204: a stranger on our port is not taken for it.
    The buffer for a request's body holds the largest that nginx takes: one that does not fit is written to a file, with a line in the log.
    """
    temporary = "\n".join(f"    {kind}_temp_path {prefix}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    params = "\n".join(f"            fastcgi_param {name} {value};" for name, value in nginx_params())
    return f"""worker_processes {web.get("workers", "1")};
pid {prefix}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
{temporary}
    types {{ text/html html; text/css css; application/javascript js; image/png png; image/jpeg jpg jpeg; image/svg+xml svg; }}
    default_type application/octet-stream;
    access_log off;
    server_tokens off;
    sendfile on;
    client_body_buffer_size 1m;
    keepalive_timeout 3600s;
    keepalive_requests 1000000;
    server {{
        listen {listen};
        root {_quoted(docroot)};
        index {front_controller} index.html;
        location = /.phpdyno/{marker} {{ return 204; }}
        location / {{ try_files $uri $uri/ /{front_controller}$is_args$args; }}
        location ~ \\.php$ {{
            try_files $uri =404;
            fastcgi_pass {fastcgi};
{params}
        }}
    }}
}}
"""


def _quoted(path: Path) -> str:
    """A path as nginx takes it literally. A dollar sign would start a variable and cannot be escaped: our copies have none."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
