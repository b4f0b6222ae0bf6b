"""Questions to a running MariaDB, through Debian's client."""

import itertools
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.host.files.plain import read_plain
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.supervisor import Supervisor

LOG = "ask-mariadb"
TIMEOUT_S = 30.0
_NUMBERS = itertools.count()


def ask(supervisor: Supervisor, socket: Path, sql: str, *, user: str = "", refused: str = "MariaDB does not answer") -> str:
    """Return what the server at this socket answers to `sql`: a line for each row, its columns
    parted by tabs.

    `user` is whom it is asked as, the service user's own name where empty. Raises DynoError that
    begins with `refused`.
    """
    # Its answer alone: what it says besides goes into the log.
    folder = supervisor.live / "sql-answers"
    folder.mkdir(mode=0o700, exist_ok=True)
    place = folder / str(next(_NUMBERS))
    client = [find_program("mariadb"), "--no-defaults", "--batch", "--skip-column-names", f"--socket={socket}"]
    named = [f"--user={user}"] if user else []
    child = supervisor.run(
        LOG, [*client, *named, f"--execute={sql}"], env={"HOME": str(supervisor.live)}, output=place, timeout_s=TIMEOUT_S
    )
    if child.status != 0:
        raise DynoError(f"{refused}: {child.tail(1)}", where=str(socket), next_step=f"see {child.log}")
    return read_plain(place).decode(errors="replace").strip()
