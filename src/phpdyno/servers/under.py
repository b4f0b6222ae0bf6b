"""A program that php-fpm is started under: one that counts what it does, and makes it slow."""

from msgspec import Struct

READY_S = 15.0
"""How long a server may take until it answers."""


class Under(Struct, frozen=True):
    """`words` come before php-fpm's own command line; what starts under them may take `ready_s`
    until it answers."""

    words: tuple[str, ...] = ()
    ready_s: float = READY_S


ALONE = Under()
"""Under nothing: as in production."""
