"""The lines of requirements.lock that phpdyno needs to run, without what its developers need.

python -m tools.packaging.locked > runtime.lock
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
_BLOCK = re.compile(r"^([A-Za-z0-9_.-]+)==\S+.*?(?=^[A-Za-z0-9]|\Z)", re.MULTILINE | re.DOTALL)


def runtime_lock(lock: str, wanted: set[str]) -> str:
    """The blocks of these libraries, each with its version and its hashes. Raises KeyError for one
    that is not locked."""
    blocks = {_plain(found[1]): found[0] for found in _BLOCK.finditer(lock)}
    return "".join(blocks[name] for name in sorted(wanted))


def closure(names: Iterator[str]) -> set[str]:
    """These libraries and all that they need here, as installed in this environment."""
    found: set[str] = set()
    todo = [_plain(name) for name in names]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                todo.append(_plain(needed.name))
    return found


def own_dependencies() -> Iterator[str]:
    """What pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return (Requirement(text).name for text in project["dependencies"])


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.stdout.write(runtime_lock(LOCK.read_text(), closure(own_dependencies())))
