"""A Containerfile's steps, read one by one, to be carried out without a program that builds
images."""

import re
import shlex
from pathlib import Path

from msgspec import Struct

KNOWN = frozenset({"ARG", "FROM", "RUN", "COPY", "WORKDIR", "ENTRYPOINT", "CMD"})


class Stage(Struct, frozen=True):
    """One FROM and what stands behind it: `steps` are instructions with their texts, in order."""

    name: str
    steps: tuple[tuple[str, str], ...]


def stages_of(path: Path) -> list[Stage]:
    """All stages. Raises ValueError for an instruction that is not known here."""
    text = re.sub(r"\\\n", " ", path.read_text())
    stages: list[Stage] = []
    for line in (each.strip() for each in text.splitlines()):
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word not in KNOWN:
            raise ValueError(f"{path.name}: {word} is not carried out here")
        if word == "FROM":
            stages.append(Stage(rest.partition(" AS ")[2], ()))
        elif word != "ARG":
            stages[-1] = Stage(stages[-1].name, (*stages[-1].steps, (word, rest.strip())))
    return stages


def copied(text: str) -> tuple[str, tuple[str, ...], str]:
    """Of a COPY: the stage that it copies from ('' for the context), what, and where to."""
    words = shlex.split(text)
    stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
    return stage, tuple(words[:-1]), words[-1]
