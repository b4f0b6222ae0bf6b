"""A measuring lock that only notes when it is held."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager


def noting_lock(seen: list[str]) -> Callable[[], AbstractContextManager[None]]:
    """Puts `held` and `free` among what is seen."""

    @contextlib.contextmanager
    def lock() -> Iterator[None]:
        seen.append("held")
        yield
        seen.append("free")

    return lock
