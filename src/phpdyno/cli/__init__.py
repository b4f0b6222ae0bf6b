"""The command line: the only place that prints."""

import os
import sys
from typing import NoReturn

from phpdyno.cli.interrupts import end_in_order
from phpdyno.errors import DynoError, Interrupted

EXIT_INTERRUPTED = 130


def main(argv: list[str] | None = None) -> NoReturn:
    """Entry point of `phpdyno`. Exit codes: 0 fine, 1 failure, 2 usage, 3 and 4 as asked for, 130 interrupted."""
    from phpdyno.cli.app import run  # noqa: PLC0415 (an interrupt while libraries load must end as quietly as any other)

    # The servers' account has to read what we write for it, whatever the user's own umask is.
    os.umask(0o022)
    end_in_order()
    try:
        code = run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt as interrupt:
        go_on = f"; go on with: phpdyno {interrupt.command} --resume {interrupt.run}" if isinstance(interrupt, Interrupted) else ""
        print(f"phpdyno: interrupted{go_on}", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except DynoError as error:
        print(f"phpdyno: {error}", file=sys.stderr)
        code = error.exit_code
    except BrokenPipeError:
        # The reader of our output is gone (`phpdyno report RUN | head`); nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"phpdyno: {place}{error.strerror or error}", file=sys.stderr)
        code = DynoError.exit_code
    sys.exit(code)
