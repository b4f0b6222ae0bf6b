"""The command `phpdyno cache` and its options."""

from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import AsJson


def cache(
    *names: Annotated[
        str,
        Parameter(
            name="NAME", show_default=False, help="an entry, or all of one kind (seed, wordpress, finished, preload …); default: all"
        ),
    ],
    clean: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="remove them, but for what is in use, and for preload scripts that are not named"),
    ] = False,
    json: AsJson = False,
) -> int:
    """List what phpdyno keeps on this host: prepared apps, databases loaded from dumps, builds, preload scripts. With --clean remove it."""
    from phpdyno.commands.cache import command  # noqa: PLC0415 (the servers' modules: not for --help)

    return command.run(names, clean=clean, json=json)
