"""Commands about the command line itself: completion by the shell, and the man page."""

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from phpdyno import __version__


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="the shell that is to complete")], /) -> int:
    """Print a script that completes phpdyno's commands and options in a shell."""
    from phpdyno.cli.app import app  # noqa: PLC0415 (it is made of this command too)

    sys.stdout.write(app.generate_completion(prog_name="phpdyno", shell=shell))
    return 0


def manual() -> int:
    """Print the man page, made of the same texts as `--help`."""
    from phpdyno.cli.app import app  # noqa: PLC0415 (it is made of this command too)
    from phpdyno.cli.roff import man_page  # noqa: PLC0415 (only here)

    sys.stdout.write(man_page(app.generate_docs(heading_level=1, usage_name="phpdyno"), __version__))
    return 0
