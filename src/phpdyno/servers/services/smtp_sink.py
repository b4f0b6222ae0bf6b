"""A mail server that takes every message, counts it and delivers nothing.

It is our own: aiosmtpd (1.4.6, maintained) would do, but it would lie in our virtual environment,
which the servers' account need not be able to read, and what is needed of SMTP here is two pages of
code without a dependency.
"""

import contextlib
import json
from collections.abc import Iterator

from msgspec import Struct

from phpdyno.servers.services.running import RunningService, ServiceStart, answers, home_of, kept_running, placed_file, system_python
from phpdyno.servers.supervision.supervisor import Supervisor

COUNTS = "mails.jsonl"


class Mails(Struct, frozen=True):
    """What was sent so far over connections that have ended."""

    connections: int = 0
    messages: int = 0
    recipients: int = 0


@contextlib.contextmanager
def started(supervisor: Supervisor, start: ServiceStart) -> Iterator[RunningService]:
    """Run it. In the bottle ports below 1024 are open to every account."""
    home = home_of(supervisor, start)
    socket_path = home / "smtp.sock"
    told = {
        "tcp": [[address.host, address.port] for address in start.listen.tcp],
        "socket": str(socket_path),
        "counts": str(home / COUNTS),
    }
    child = supervisor.spawn(
        start.log,
        [system_python(), "-I", str(placed_file(supervisor, "smtp_server.py")), json.dumps(told)],
        cores=start.cores,
        cgroups=start.cgroups,
    )
    ready = lambda: answers(socket_path, b"", b"220 ")  # noqa: E731
    with kept_running(supervisor, child, ready, socket_path=socket_path, listen=start.listen):
        yield RunningService(start.service, child, socket_path)


def mails_of(running: RunningService) -> Mails:
    """What this sink has counted; our own look at it, which sends nothing, is a connection that
    does not count."""
    connections = messages = recipients = 0
    if running.socket is not None:
        with contextlib.suppress(FileNotFoundError), (running.socket.parent / COUNTS).open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    count = json.loads(line)
                    connections += 1
                    messages += count["messages"]
                    recipients += count["recipients"]
    return Mails(connections, messages, recipients)
