"""What a report says before all else, among the warnings of a run: that the app could reach more
than its own, is served by a server block of its own, and what was copied where nobody said so.
Pure."""

from collections.abc import Iterable, Sequence

from phpdyno.model.services.service import Tcp

IN_THE_OPEN = "measured without a bottle"
LETS_THROUGH = "lets through: "
OWN_NGINX = "nginx has the app's own server block: "
PROJECT = "the project is "
WARNING = "Warning: "
"""What a sentence begins with that casts doubt on a result."""


def open_words(reason: str) -> str:
    """Says that an app runs without a bottle, and why."""
    return f"{IN_THE_OPEN} ({reason}): the app could reach this host's network, services and files"


def through_words(peers: Iterable[Tcp | str]) -> str:
    """Which peers outside are let through, by name."""
    return LETS_THROUGH + ", ".join(map(str, peers))


def project_words(root: str, why: str, others: int) -> str:
    """Say that more was copied than the directory that was named: which, why, and how much."""
    too = f"; its {others} other director{'y is' if others == 1 else 'ies are'} copied too" if others else ""
    return f"{PROJECT}{root}: {why}{too}"


def first_of(warnings: Sequence[str]) -> tuple[str, ...]:
    """Those of the warnings that a report begins with, each once."""
    return tuple(dict.fromkeys(each for each in warnings if _is_first(each)))


def rest_of(warnings: Sequence[str]) -> tuple[str, ...]:
    """The other warnings."""
    return tuple(each for each in warnings if not _is_first(each))


def _is_first(warning: str) -> bool:
    return warning.startswith((IN_THE_OPEN, LETS_THROUGH, OWN_NGINX, PROJECT))
