"""The network of the host, for what is downloaded: tests that run side by side have one of their
own, from which nothing is reached."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from phpdyno.host import namespaces

OURS = "/proc/thread-self/ns/net"

_host: list[int] = []


def keep_host_network() -> None:
    """Remember the network that this process is in, before it leaves it."""
    _host.append(os.open(OURS, os.O_RDONLY | os.O_CLOEXEC))


@contextmanager
def host_network() -> Iterator[None]:
    """In the network of the host meanwhile, with all that is started in it."""
    if not _host:  # we have never left it
        yield
        return
    own = os.open(OURS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        namespaces.setns(_host[0], namespaces.NEWNET)
        yield
    finally:
        namespaces.setns(own, namespaces.NEWNET)
        os.close(own)
