"""A supervisor that is a fake: small commands of the system's are really run, here and at once, by
whoever runs the tests."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from phpdyno.servers.supervision.child import Child


class FakeSupervisor:
    """Runs what it is given, in no bottle and as nobody else; what it was asked to show and to let
    write is kept."""

    user = SimpleNamespace(switch=False, uid=0, gid=0)

    def __init__(self, live: Path) -> None:
        live.mkdir(parents=True, exist_ok=True)
        self.live = live
        self.shown: list[Path] = []
        self.writable: list[Path] = []

    def run(self, name: str, argv: Sequence[str], *, cwd: Path | None = None, **__: object) -> Child:
        """To its end."""
        ended = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
        said = ended.stdout + ended.stderr
        return cast(Child, SimpleNamespace(name=name, status=ended.returncode, said=lambda: said, tail=lambda _: said, log=Path("log")))

    def show(self, path: Path) -> None:
        """Keep it."""
        self.shown.append(path)

    def let_write(self, path: Path) -> None:
        """Keep it."""
        self.writable.append(path)

    def directory(self, name: str) -> Path:
        """One that is there."""
        (self.live / name).mkdir(exist_ok=True)
        return self.live / name
