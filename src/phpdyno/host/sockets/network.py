"""The network namespace that we speak to the servers in: the bottle's while one is open, and the
host's for what concerns the host.

A socket belongs to the namespace that its thread is in when it is made, and a new thread is in that
of the one that starts it. So the main thread enters, and all that it starts connects inside.
"""

import os
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from phpdyno.host import namespaces
from phpdyno.model.services.service import Tcp

_T = TypeVar("_T")
NO_BOTTLE = "--no-bottle"
"""The word by which a user does without one."""
_OURS = Path("/proc/thread-self/ns/net")


class _State:
    """What this process has entered. `refused` says why it may enter nothing; '' where it may."""

    def __init__(self) -> None:
        self.refused = "" if os.geteuid() == 0 else "phpdyno was not started as a command of its own"
        self.outside: _Outside | None = None
        self.allowed: tuple[Tcp, ...] = ()


class _Outside:
    """A thread that stays in the host's namespace and does there what it is given."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="phpdyno-outside", daemon=True).start()

    def do(self, work: Callable[[], _T]) -> _T:
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._work.put((work, answer))
        value, error = answer.get()
        if error is not None:
            raise error
        given: _T = value
        return given

    def _serve(self) -> None:
        while True:
            work, answer = self._work.get()
            try:
                answer.put((work(), None))
            except Exception as error:
                answer.put((None, error))


_STATE = _State()


def own_namespaces() -> None:
    """As an ordinary user: have a user namespace of our own, in which network namespaces may be
    entered. To be called before any thread is started. Ids stay what they are; those of other
    accounts are shown as the overflow id from then on."""
    if os.geteuid() == 0:
        return
    try:
        namespaces.enter_user_namespace()
    except OSError as error:
        _STATE.refused = f"no user namespace can be made: {error.strerror}"
    else:
        _STATE.refused = ""


def decline() -> None:
    """Enter none in this process, because the user said so."""
    _STATE.refused = NO_BOTTLE


def allow(peers: Sequence[Tcp]) -> None:
    """Let these peers through to every app of this process, because the user said so; they take the
    place of earlier ones."""
    _STATE.allowed = tuple(peers)


def allowed() -> tuple[Tcp, ...]:
    """The peers that the user lets through."""
    return _STATE.allowed


def refused() -> str:
    """Why this process may enter no network namespace; '' where it may."""
    return _STATE.refused


def enter(namespace: str) -> Callable[[], None]:
    """Put the main thread into the network namespace that a file stands for; what is returned takes
    it back out, as far as the kernel lets an ordinary user. Raises OSError."""
    if _STATE.outside is None:
        _STATE.outside = _Outside()
    before = os.open(_OURS, os.O_RDONLY | os.O_CLOEXEC)
    inside = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        namespaces.setns(inside, namespaces.NEWNET)
    except OSError:
        os.close(before)
        raise
    finally:
        os.close(inside)

    def leave() -> None:
        try:
            namespaces.setns(before, namespaces.NEWNET)
        except PermissionError:
            pass  # an ordinary user may not go back; `outside` is there for what concerns the host
        finally:
            os.close(before)

    return leave


def outside(work: Callable[[], _T]) -> _T:
    """What `work` returns when it is done in the host's network namespace."""
    return work() if _STATE.outside is None else _STATE.outside.do(work)
