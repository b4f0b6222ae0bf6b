"""How php-fpm is started where it is looked into instead of measured: under a program that counts, on more cores."""

from msgspec import Struct

READY_S = 15.0
"""How long a server may take until it answers."""


class Under(Struct, frozen=True):
    """`words` come before php-fpm's own command line; what starts under them may take `ready_s` until it answers.

    `every_core`: it may run on all cores that we have, so that threads which look at a request do not wait for the one that serves it.
    """

    words: tuple[str, ...] = ()
    ready_s: float = READY_S
    every_core: bool = False


ALONE = Under()
"""Under nothing: as in production."""
