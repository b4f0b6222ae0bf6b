"""A tool that watches running processes from outside, for as long as something is done with
them."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

DETACH_S = 30.0
"""Far more than it takes: what was seen is written out first."""


@contextmanager
def attached(
    supervisor: Supervisor, name: str, argv: Sequence[str], attach: Callable[[Child], None], *, as_service: bool = False
) -> Iterator[None]:
    """Run a tool beside the block, which begins once `attach` has seen that it watches. Raises
    DynoError, and what `attach` raises."""
    child = supervisor.spawn(name, argv, as_service=as_service)
    try:
        attach(child)
        yield
        # As Ctrl-C would: it lets go of everything and writes what it has seen.
        supervisor.signal(child.pid, signal.SIGINT)
        if not child.wait(DETACH_S):
            tool = Path(argv[0]).name
            raise DynoError(f"{tool} did not let go of its processes within {DETACH_S:.0f} s", next_step=f"see {child.log}")
    finally:
        child.stop(timeout_s=DETACH_S)
