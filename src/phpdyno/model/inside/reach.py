"""What an app reached for while it served some requests: peers, names, programs, and files outside
its own tree."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Family = Literal["inet", "inet6", "unix"]
Protocol = Literal["tcp", "udp", "unix"]
Outcome = Literal["connected", "refused", "unreachable", "no such file", "timed out", "in progress", "forbidden", "failed"]
Deed = Literal["written", "made", "removed", "renamed", "changed"]
"""What was done: opened for writing, made (a directory, a link), removed, renamed (from or to), or
its rights, owner or times changed."""


class Connection(Struct, frozen=True):
    """One peer that was tried, with one outcome."""

    host: Annotated[str, Meta(description="The name that was looked up for the address, else the address; empty for a unix socket.")]
    port: Annotated[int, Meta(description="The port; 0 for a unix socket.")]
    path: Annotated[str, Meta(description="The unix socket, an abstract one with `@` before it; empty for the network.")]
    family: Annotated[Family, Meta(description="Kind of address.")]
    protocol: Annotated[Protocol, Meta(description="How it was spoken to.")]
    outcome: Annotated[Outcome, Meta(description="How it ended. Of udp `connected` says that something was sent, no more.")]
    error: Annotated[str, Meta(description="The kernel's word for it, as ECONNREFUSED; empty for success.")]
    calls: Annotated[int, Meta(description="How often.")]


class Lookup(Struct, frozen=True):
    """One name that a name server was asked for."""

    name: Annotated[str, Meta(description="The name, without the dot at its end.")]
    calls: Annotated[int, Meta(description="How often; what is asked again for want of an answer counts once.")]
    resolved: Annotated[bool, Meta(description="Whether an address came back at least once.")]


class Program(Struct, frozen=True):
    """One program that PHP executed; what that executed in turn is not counted. Arguments may hold
    passwords, and are not kept."""

    name: Annotated[str, Meta(description="Its name or path; of a shell's command line the first word that is no variable.")]
    mail: Annotated[bool, Meta(description="Whether it is what mail() hands a message to.")]
    error: Annotated[str, Meta(description="Why it could not be executed, as ENOENT; empty for success.")]
    calls: Annotated[int, Meta(description="How often.")]


class Write(Struct, frozen=True):
    """One file outside the trees that are the app's, and what was done to it."""

    path: Annotated[str, Meta(description="Where it is, as the process sees it.")]
    deed: Annotated[Deed, Meta(description="What was done.")]
    error: Annotated[str, Meta(description="Why it was refused, as EROFS; empty for success.")]
    calls: Annotated[int, Meta(description="How often.")]


class Missed(Struct, frozen=True):
    """One file or directory outside the trees that are the app's which was looked for, and which
    the host has and the app has not."""

    path: Annotated[str, Meta(description="Where it is on the host.")]
    calls: Annotated[int, Meta(description="How often.")]


class Reached(Struct, frozen=True):
    """Everything of it, most frequent first. The order is the same for the same requests."""

    requests: Annotated[int, Meta(description="The requests that it belongs to.")]
    connections: tuple[Connection, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    programs: tuple[Program, ...] = ()
    writes: tuple[Write, ...] = ()
    no_name_server: Annotated[
        bool, Meta(description="Whether a name server could not even be asked, so that names that were looked up are not known.")
    ] = False
    missed: tuple[Missed, ...] = ()
