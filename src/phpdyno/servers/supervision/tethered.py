"""Short commands where there is no supervisor yet: they end with us, and with all that they started
when they take too long."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial

from phpdyno.servers.supervision.becoming import end_with
from phpdyno.servers.supervision.supervisor import Account


def run_tethered(
    argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None, account: Account | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, in a session of its own that is killed with us or after
    `timeout_s`; `account` is who it runs as.

    Raises subprocess.TimeoutExpired and OSError, as subprocess.run does.
    """
    # Carried out after the change of account, which would undo it.
    tether = partial(end_with, os.getpid())
    who = {"user": account[0], "group": account[1], "extra_groups": []} if account else {}

    with subprocess.Popen(  # type: ignore[call-overload]
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        start_new_session=True,
        preexec_fn=tether,  # noqa: PLW1509 (nothing of ours runs in threads, and the child makes two system calls)
        **who,
    ) as process:
        try:
            output, error = process.communicate(timeout=timeout_s)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, output, error)
