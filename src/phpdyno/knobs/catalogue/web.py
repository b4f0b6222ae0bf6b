"""The web server in front of the pool, and what lies between the two."""

from typing import Any

from phpdyno.knobs import proof, proof_servers
from phpdyno.knobs.domain import BUFFERS, WEB_SIZE, Domain, buffers_bytes, choice, integer
from phpdyno.knobs.knob import Cost, Knob
from phpdyno.knobs.proof import Proof
from phpdyno.model.arm import APACHE
from phpdyno.model.facts import HostFacts, WorkerFacts

FASTCGI = "nginx documentation: ngx_http_fastcgi_module"
UPSTREAM = "nginx documentation: ngx_http_upstream_module, keepalive"


def _web(name: str, domain: Domain, apply: Cost, seen_by: Proof, default: str, **more: Any) -> Knob:
    return Knob(f"web.{name}", domain, apply, seen_by, default=default, metric="throughput", **more)


def _keepalive(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """One fewer than there are workers: a kept connection holds one, and one must be left for
    whoever else comes."""
    return (str(facts.workers - 1),) if facts.workers > 1 else ()


def _nginx_workers(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    return (str(host.cores),) if host.cores > 1 else ()


def _log(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Without one, or with fewer writes, where the control writes one."""
    return () if facts.servers.access_log_bytes is None else ("off", "buffered")


def _buffers_kib(value: str) -> int:
    return (buffers_bytes(value) or 0) >> 10


WEB = (
    _web(
        "server",
        choice("nginx", APACHE),
        "restart",
        proof.web_server,
        "nginx",
        seen="the process that answers a page of ours is php-fpm's, or Apache's",
        untried="another web server is no setting of this one; compare and measure take it",
        price="Apache holds PHP in every process, those that serve files included",
        reference="Apache HTTP Server documentation: Apache MPM prefork; PHP manual: Apache 2.x on Unix systems",
    ),
    _web(
        "socket",
        choice("unix", "tcp"),
        "restart",
        proof.socket_family,
        "unix",
        seen="the family of the socket where the pool listens",
        tries=("unix", "tcp"),
        reference=f"{FASTCGI}, fastcgi_pass",
    ),
    _web(
        "workers",
        integer(1, 256),
        "reload",
        proof_servers.nginx_workers,
        "1",
        seen="nginx has as many child processes",
        tries=_nginx_workers,
        untried="tried where there is more than one core",
        price="one more process of nginx each",
        reference="nginx documentation: Core functionality, worker_processes",
    ),
    _web(
        "fastcgi_keepalive",
        integer(0, 1024),
        "reload",
        proof_servers.kept_connections,
        "0",
        risk="a kept connection holds a worker of the pool: kept ones times nginx workers must be fewer than workers",
        seen="connections to the pool stay open while nothing is asked",
        tries=_keepalive,
        untried="tried where the pool has more than one worker",
        reference=UPSTREAM,
    ),
    _web(
        "fastcgi_buffers",
        BUFFERS,
        "reload",
        proof_servers.nginx_accepted,
        "8 4k",
        seen="nginx accepts it; nothing shows what it does with it",
        tries=("16 16k",),
        price=_buffers_kib,
        reference=f"{FASTCGI}, fastcgi_buffers",
    ),
    _web(
        "fastcgi_buffer_size",
        WEB_SIZE,
        "reload",
        proof_servers.nginx_accepted,
        "4k",
        seen="nginx accepts it; nothing shows what it does with it",
        untried="it must hold the headers of an answer, no more; headers that do not fit in fail the request, which would be seen",
        price="the value, per request under way",
        reference=f"{FASTCGI}, fastcgi_buffer_size",
    ),
    _web(
        "access_log",
        choice("off", "on", "buffered"),
        "reload",
        proof_servers.access_log,
        "off",
        risk="off: nobody can tell later what was asked; buffered: lines of up to five seconds are lost in a crash",
        seen="nginx has a log that grows, or none",
        tries=_log,
        untried="tried where the control writes one",
        price="64 KiB per nginx worker (buffered)",
        reference="nginx documentation: ngx_http_log_module, access_log",
    ),
)
