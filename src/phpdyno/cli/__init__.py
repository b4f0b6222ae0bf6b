"""The command line: the only place that prints."""

import os
import sys
from typing import NoReturn

from phpdyno.cli.interrupts import end_in_order
from phpdyno.cli.output import open_outputs
from phpdyno.errors import DynoError, Interrupted
from phpdyno.host.sockets.network import own_namespaces
from phpdyno.host.system import require_linux

EXIT_INTERRUPTED = 130


def main(argv: list[str] | None = None) -> NoReturn:
    """Entry point of `phpdyno`. Exit codes: 0 fine, 1 failure, 2 usage, 3 to 5 as asked for, 130
    interrupted."""
    arguments = sys.argv[1:] if argv is None else argv
    # Before numpy is loaded: its linear algebra keeps a thread for each core, which spins at first
    # and which our small matrices never use.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The servers' account has to read what we write for it, whatever the user's own umask is.
    os.umask(0o022)
    try:
        require_linux(proc=next((each for each in arguments if not each.startswith("-")), "") != "doctor")
    except DynoError as error:
        sys.exit(_told(error, error.exit_code))
    own_namespaces()
    end_in_order()
    try:
        open_outputs()
        from phpdyno.cli.app import run  # noqa: PLC0415 (an interrupt while libraries load must end as quietly as any other)

        code = run(arguments)
    except KeyboardInterrupt as interrupt:
        go_on = f"go on with: phpdyno {interrupt.command} --resume {interrupt.run}" if isinstance(interrupt, Interrupted) else ""
        code = _told(DynoError("interrupted", next_step=go_on), EXIT_INTERRUPTED)
    except DynoError as error:
        code = _told(error, error.exit_code)
    except OSError as error:
        code = _told(DynoError(error.strerror or str(error), where=str(error.filename or "")), DynoError.exit_code)
    sys.exit(code)


def _told(error: DynoError, code: int) -> int:
    print(f"phpdyno: {error}", file=sys.stderr)
    return code
