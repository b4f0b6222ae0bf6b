"""An nginx configuration as data."""

from msgspec import Struct


class Directive(Struct, frozen=True):
    """One directive with its arguments, without their quotes; `block` is what stands in its braces,
    None where it has none. `where` is FILE:LINE."""

    name: str
    args: tuple[str, ...] = ()
    block: tuple["Directive", ...] | None = None
    where: str = ""


class NginxSite(Struct, frozen=True):
    """A server block of production, made fit for our nginx: what stands beside it in `http`, what
    stands in it, and in words what was replaced or left out."""

    http: tuple[Directive, ...]
    server: tuple[Directive, ...]
    file: str
    notes: tuple[str, ...] = ()
