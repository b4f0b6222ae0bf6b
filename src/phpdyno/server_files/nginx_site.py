"""A server block of production made fit for our nginx: what leads out of the bottle, to other
servers or to missing modules is replaced or left out, and each of it told. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from crossplane import build
from crossplane.analyzer import DIRECTIVES
from msgspec import structs

from phpdyno.config.nginx_conf import blocks
from phpdyno.errors import UsageError
from phpdyno.model.nginx import Directive, NginxSite
from phpdyno.model.workload import Scheme
from phpdyno.server_files.fastcgi import CLIENT_PORT, PORTS

DOCROOT, ROOT, PHP = "@phpdyno-docroot@", "@phpdyno-root@", "@phpdyno-php@"
"""What stands for the places of a run until there is one."""
CONTAINERS = frozenset({"server", "location", "if", "limit_except"})
_OURS = frozenset({"listen", "server_name"})
_ELSEWHERE = ("proxy_pass", "grpc_pass", "uwsgi_pass", "scgi_pass", "memcached_pass", "js_content", "perl")
_LEFT_OUT = {
    "web.access_log says what is logged": (
        "access_log",
        "error_log",
        "log_format",
        "log_not_found",
        "log_subrequest",
        "open_log_file_cache",
    ),
    "nothing of ours is encrypted": ("ssl", "http2", "http3", "quic"),
    "it would limit the load": ("limit_req", "limit_conn", "limit_rate"),
    "it would answer in the place of PHP": ("fastcgi_cache", "fastcgi_store"),
    "no other server is asked": ("proxy", "grpc", "uwsgi", "scgi", "memcached", "upstream", "resolver"),
    "nobody is asked for a password": ("auth_basic",),
    "it belongs to the whole server": (
        *("worker", "user", "pid", "daemon", "events", "load_module", "stream", "mail", "env", "pcre_jit", "master_process", "keepalive"),
        *("client_body_temp_path", "fastcgi_temp_path", "fastcgi_keep_conn", "fastcgi_bind", "server_names_hash", "thread_pool", "aio"),
        *("absolute_redirect", "port_in_redirect"),
    ),
    "it needs a module that our nginx does not load": (
        *("geoip", "image_filter", "xslt", "js", "auth_jwt", "session_log", "health_check", "status_zone", "otel", "zone", "match"),
        *("perl", "f4f", "hls", "keyval", "api", "state"),
    ),
}
"""Directives by why they are left out, each with all that begin with it and an underscore."""
_UNKNOWN = "our nginx does not know it"


def fit(tree: Sequence[Directive], file: str, *, root: Path, docroot: Path, host: str, pool: str = "") -> NginxSite:
    """The site of a configuration for an app in `root`; `pool` is the address of the only php-fpm
    that counts, as the load core takes it, '' for any. Raises UsageError where it holds no server
    block that passes requests to PHP, or several of which none is the host's."""
    server = _server(tree, file, docroot, host, pool)
    notes = _Notes()
    own = next((each.args[0] for each in server.block or () if each.name == "root" and each.args), "")
    places = _Places(own, root, docroot)
    inside = tuple(_fitting(server.block or (), notes, places))
    beside = tuple(_fitting([each for each in _http(tree) if each.name != "server"], notes, places))
    replaced = ["listen", "server_name", *(["root"] if own and own != str(docroot) else [])]
    passes = sorted({each.args[0] for each in blocks(server.block or (), "fastcgi_pass") if each.args})
    first = f"ours instead of the file's: {', '.join(replaced)}, fastcgi_pass {', '.join(passes)}"
    return NginxSite(beside, inside, file, (first, *notes.lines()))


class _Notes:
    """What was left out, by the reason, and what answers otherwise."""

    def __init__(self) -> None:
        self._left_out: dict[str, dict[str, None]] = {}
        self.others: dict[str, None] = {}

    def left_out(self, name: str, reason: str) -> None:
        self._left_out.setdefault(reason, {})[name] = None

    def lines(self) -> tuple[str, ...]:
        return (*self.others, *(f"left out: {', '.join(names)} ({reason})" for reason, names in self._left_out.items()))


class _Places:
    """How arguments are to be read here: paths of the site as places of the run, and variables that
    say how the client came as those that say what the app is to believe."""

    def __init__(self, own_root: str, root: Path, docroot: Path) -> None:
        """`own_root` is the site's; what lies above it there lies above ours here, as far as they
        are named alike."""
        own, below = own_root.rstrip("/"), f"/{docroot.relative_to(root)}" if docroot != root else ""
        self._paths = [(own, DOCROOT)] if own else []
        if below and own.endswith(below) and own != below:
            self._paths.append((own.removesuffix(below), ROOT))
        self._paths.append((str(root), ROOT))

    def put(self, text: str) -> str:
        for path, token in self._paths:
            if text == path or text.startswith((f"{path}/", f"{path}$")):
                text = token + text[len(path) :]
        return _VARIABLE.sub(_own_variable, text)

    def is_inside(self, text: str) -> bool:
        return not text.startswith("/") or self.put(text) != text


def believed(scheme: Scheme) -> dict[str, str]:
    """What the app is to believe of its clients, by the names of nginx's variables."""
    return {"scheme": scheme, "https": "on" if scheme == "https" else "", "server_port": PORTS[scheme], "remote_port": CLIENT_PORT}


_VARIABLE = re.compile(r"\$(?:(scheme|https|server_port|remote_port)(?![A-Za-z0-9_])|\{(scheme|https|server_port|remote_port)\})")


def _own_variable(match: re.Match[str]) -> str:
    # Braces only where the next character would belong to the name.
    braces = match[2] is not None and re.match(r"[A-Za-z0-9_]", match.string[match.end() :])
    name = f"phpdyno_{match[1] or match[2]}"
    return f"${{{name}}}" if braces else f"${name}"


def serving(tree: Sequence[Directive], pool: str) -> list[Directive]:
    """The server blocks that pass requests to PHP, to the one at the address `pool` ('': any)."""
    servers = [each for each in blocks(tree, "server") if each.block is not None]
    if not servers and any(each.name == "location" for each in tree):
        servers = [Directive("server", (), tuple(tree))]
    return [each for each in servers if any(_leads_to(one, pool, tree) for one in blocks(each.block or (), "fastcgi_pass"))]


def _server(tree: Sequence[Directive], file: str, docroot: Path, host: str, pool: str) -> Directive:
    found = serving(tree, pool)
    if not found:
        to = f"the pool at {pool}" if pool else "PHP"
        raise UsageError(f"no server block passes requests to {to} (fastcgi_pass)", where=file, next_step="name the file of the app's site")
    if len(found) == 1:
        return found[0]
    for fits in (
        [each for each in found if host in _words(each, "server_name")],
        [each for each in found if str(docroot) in _words(each, "root")],
    ):
        if fits:
            # Plain http and https of one site are often two blocks.
            return next((each for each in fits if any("443" in word for word in _words(each, "listen"))), fits[0])
    known = ", ".join(" ".join(_words(each, "server_name")) or "(no name)" for each in found)
    raise UsageError(f"{len(found)} server blocks pass requests to PHP: {known}", where=file, next_step='set host = "NAME" to one of them')


def _leads_to(passes: Directive, pool: str, tree: Sequence[Directive]) -> bool:
    """Whether a fastcgi_pass leads to a pool, also by the name of an upstream; '' for any pool."""
    if not pool:
        return True
    name = passes.args[0] if passes.args else ""
    upstream = next((each for each in blocks(tree, "upstream") if each.args == (name,)), None)
    names = [each.args[0] for each in upstream.block or () if each.name == "server" and each.args] if upstream else [name]
    return any(_address(each) == pool for each in names)


def _address(name: str) -> str:
    """nginx's `unix:/path`, `HOST:PORT` or `HOST` as the load core takes an address."""
    if name.startswith("unix:"):
        return name
    host, _, port = name.rpartition(":") if ":" in name else (name, "", "")
    return f"tcp:{'127.0.0.1' if host == 'localhost' else host}:{port or 9000}"


def _words(server: Directive, name: str) -> list[str]:
    return [word for each in server.block or () if each.name == name for word in each.args]


def _http(tree: Sequence[Directive]) -> Sequence[Directive]:
    """What stands beside the server block."""
    http = next((each for each in tree if each.name == "http"), None)
    if http is not None:
        return http.block or ()
    return tree if any(each.name == "server" for each in tree) else ()


def _fitting(directives: Sequence[Directive], notes: _Notes, places: _Places) -> Iterator[Directive]:
    for each in directives:
        if each.name in _OURS:
            continue
        if each.name == "fastcgi_pass":
            yield structs.replace(each, args=(PHP,))
        elif each.name in CONTAINERS:
            yield _container(each, notes, places)
        elif reason := _reason(each, places):
            notes.left_out(each.name, reason)
        else:
            # The name of a variable that is set is its own.
            kept = 1 if each.name == "set" else 0
            yield structs.replace(each, args=(*each.args[:kept], *(places.put(arg) for arg in each.args[kept:])))


def _container(each: Directive, notes: _Notes, places: _Places) -> Directive:
    leads = next((one for one in each.block or () if _leads_elsewhere(one.name)), None)
    if leads is not None and each.name == "location":
        to = "" if "_by_lua" in leads.name else " " + " ".join(leads.args)[:60]
        notes.others[f"location {' '.join(each.args)} answers 502: {leads.name}{to} leads elsewhere"] = None
        return structs.replace(each, block=(Directive("return", ("502",)),))
    args = each.args if each.name == "location" else tuple(places.put(arg) for arg in each.args)
    return structs.replace(each, args=args, block=tuple(_fitting(each.block or (), notes, places)))


def _leads_elsewhere(name: str) -> bool:
    return name in _ELSEWHERE or "_by_lua" in name


def _reason(each: Directive, places: _Places) -> str:
    """Why a directive cannot be had here; '' where it can."""
    for reason, names in _LEFT_OUT.items():
        if any(each.name == name or each.name.startswith(f"{name}_") for name in names):
            return reason
    if _leads_elsewhere(each.name) or each.name not in DIRECTIVES:
        return _UNKNOWN
    if each.name in {"root", "alias"} and each.args and not places.is_inside(each.args[0]):
        return f"{each.args[0]} lies outside the app's root"
    return ""


def placed(directives: Sequence[Directive], places: Mapping[str, str]) -> tuple[Directive, ...]:
    """The directives with the places of a run."""

    def put(text: str) -> str:
        for token, value in places.items():
            text = text.replace(token, value)
        return text

    return tuple(
        Directive(each.name, tuple(map(put, each.args)), None if each.block is None else placed(each.block, places)) for each in directives
    )


def without(directives: Sequence[Directive], names: Collection[str]) -> tuple[Directive, ...]:
    """The directives without those of these names, at any depth."""
    kept = (each for each in directives if each.name not in names)
    return tuple(structs.replace(each, block=None if each.block is None else without(each.block, names)) for each in kept)


def text_of(directives: Sequence[Directive]) -> str:
    """The directives as a configuration file has them."""

    def plain(each: Directive) -> dict[str, object]:
        found: dict[str, object] = {"directive": each.name, "args": list(each.args)}
        return found if each.block is None else {**found, "block": [plain(one) for one in each.block]}

    return str(build([plain(each) for each in directives]))
