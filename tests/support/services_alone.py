"""Services in a network of their own, asked by the names that an app has: `python -m tests.support.services_alone FOLDER`.

To be started with `unshare --net --mount`; prints what the servers said.
"""

import socket
import subprocess
import sys
from pathlib import Path

from phpdyno.model.service import Service, Tcp, UnixSocket
from phpdyno.stack.services.addresses import addresses_of
from tests.support.services import running

SERVICES = (
    Service("db", "mariadb", (Tcp("db.internal", 3306), Tcp("10.1.2.3", 3306), UnixSocket(Path("/run/mysqld/mysqld.sock")))),
    Service("mail", "smtp-sink", (Tcp("mail.internal", 25), Tcp("db.internal", 25), Tcp("localhost", 25))),
)


def main() -> None:
    """Make the network as the plan says, and ask."""
    folder = Path(sys.argv[1])
    plan = addresses_of(SERVICES)
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{line}\n" for line in plan.hosts))
    for command in (
        "ip link set lo up",
        *(f"ip addr add {address} dev lo" for address in plan.addresses),
        f"mount --bind {hosts} /etc/hosts",
        "mount -t tmpfs tmpfs /run",
    ):
        subprocess.run(command.split(), check=True)
    with running(folder, *SERVICES):
        for host, port in (("db.internal", 3306), ("10.1.2.3", 3306), ("mail.internal", 25), ("db.internal", 25), ("localhost", 25)):
            with socket.create_connection((host, port), timeout=10) as asked:
                print(host, port, "greets" if asked.recv(64) else "hangs up")  # noqa: T201
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect("/run/mysqld/mysqld.sock")
            print("socket", "greets" if asked.recv(64) else "hangs up")  # noqa: T201


if __name__ == "__main__":
    main()
