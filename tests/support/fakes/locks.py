"""A measuring lock that only notes when it is held."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager


def noting_lock(seen: list[str], name: str = "") -> Callable[..., AbstractContextManager[None]]:
    """Puts `held` and `free` among what is seen, after its name where it has one."""

    @contextlib.contextmanager
    def lock(**_: object) -> Iterator[None]:
        seen.append(f"{name} held".strip())
        yield
        seen.append(f"{name} free".strip())

    return lock
