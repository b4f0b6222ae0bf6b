"""The known name that a mistyped one was probably meant to be."""

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The nearest of `known`, '' when nothing is near. Case does not count."""
    by_lower = {name.lower(): name for name in sorted(known)}
    found = difflib.get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""


def suggestion(word: str, known: Iterable[str], *, prefix: str = "") -> str:
    """The next step of an error about an unknown name: `did you mean X?`, else the known names when
    they are few, else ''."""
    names = sorted(known)
    near = nearest(word, names)
    if near:
        return f"did you mean {prefix}{near}?"
    return "known: " + ", ".join(names) if 0 < len(names) <= 20 else ""
