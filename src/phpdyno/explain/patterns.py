"""What the figures of two arms show together, in words. Pure."""

from collections.abc import Sequence

from phpdyno.model.inside.explained import Figure

FILE_CALLS = ("fstat", "open", "openat", "mmap", "munmap", "newfstatat", "read", "close", "lseek")
"""What PHP asks of the kernel to load a script: opened, measured, mapped or read, let go."""
SCRIPT_CALLS = frozenset({"fstat", "open", "openat", "mmap", "munmap"})
_GONE = 0.05
_SOME = 0.5


def vanished(figures: Sequence[Figure], arms: Sequence[str]) -> tuple[str, ...]:
    """Which of the calls that load a script are (nearly) gone from one of two arms: what a cache of
    compiled scripts spares."""
    if len(arms) != 2:
        return ()
    found = []
    for there, gone in ((0, 1), (1, 0)):
        names = [each.name for each in figures if each.name in FILE_CALLS and _is_gone(each, there, gone)]
        if SCRIPT_CALLS.intersection(names):
            calls = ", ".join(f"{name} {_calls(figures, name, there)}" for name in names)
            found.append(
                f"(nearly) gone in {arms[gone]}: {calls} calls per request: scripts are no longer opened and read for every request, "
                "which is what opcache spares"
            )
    return tuple(found)


def _is_gone(figure: Figure, there: int, gone: int) -> bool:
    before, after = figure.arms[there], figure.arms[gone]
    return before is not None and before.value >= _SOME and (after is None or after.value <= _GONE * before.value)


def _calls(figures: Sequence[Figure], name: str, arm: int) -> str:
    reading = next(each for each in figures if each.name == name).arms[arm]
    return f"{reading.value:.4g}" if reading else "0"
