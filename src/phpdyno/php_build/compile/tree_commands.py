"""Commands in a tree, with the servers' rights: what a source's own scripts left there is followed
by nobody who has more."""

import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.host.files.plain import READ, opened
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

Tell = Callable[[str, float], None]
"""Told what is being done and which share of it is done."""

POLL_S = 0.5
LONG_S = 3600.0
SHORT_S = 300.0
STAGED = "for-tree"
"""Where in the live directory lies what is on its way into a tree."""
TEMPORARY = "compiling"
REMOVED = ("-prune", "-exec", "rm", "-rf", "--", "{}", "+")
"""How find removes what it finds, and all that is in it."""
_ERROR = re.compile(r"(?:error|Error|undefined reference|No space left)[: ].*")


class TreeCommands:
    """Runs commands in the tree at `place` as the servers' account, in the bottle, where it may
    write to nothing else.

    The tree belongs to that account. We ourselves write nothing in it, and read plain files that
    lie behind no link of another's.
    """

    def __init__(self, place: Path, supervisor: Supervisor, tell: Tell) -> None:
        self.place = place
        self._supervisor = supervisor
        self._tell = tell
        supervisor.let_write(place)

    def run(
        self,
        name: str,
        argv: Sequence[str],
        what: str,
        share: Callable[[], float] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Child:
        """A long command, in the tree or in `cwd`; its output goes to logs/build-NAME.log. Raises
        DynoError with its last error."""
        # Nothing of the user's own flags may get into a build that others are compared with; a
        # cache of objects knows no profiles. In the live directory nothing is left of a compiler
        # that is killed.
        env = {"CCACHE_DISABLE": "1", "TMPDIR": str(self._supervisor.directory(TEMPORARY)), **(env or {})}
        child = self._supervisor.spawn(f"build-{name}", argv, env=env, cwd=cwd or self.place)
        began = time.monotonic()
        while not child.wait(POLL_S):
            self._tell(what, share() if share else 0.0)
            if time.monotonic() - began > LONG_S:
                child.stop()
                raise DynoError(f"{what} did not end within an hour", where=str(child.log))
        if child.status != 0:
            raise DynoError(f"{what} failed: {_first_error(child)}", where=name, next_step=f"see {child.log}")
        self._tell(what, 1.0)
        return child

    def do(self, argv: Sequence[str], *, cwd: Path | None = None) -> None:
        """A short command of the system's, in the tree or in `cwd`. Raises DynoError."""
        child = self._supervisor.run("build-tree", argv, cwd=cwd or self.place, timeout_s=SHORT_S)
        if child.status != 0:
            raise DynoError(f"{argv[0]} failed in this source: {child.tail(2)}", where=str(cwd or self.place), next_step=f"see {child.log}")

    def remove(self, *names: str, cwd: Path | None = None) -> None:
        """Remove files, and directories with all that is in them, by their paths in the tree or in
        `cwd`. Raises DynoError."""
        if names:
            self.do(["rm", "-rf", "--", *names], cwd=cwd)

    def copy_in(self, folder: Path, *, cwd: Path | None = None) -> None:
        """Copy what is in a directory of ours into the tree or `cwd`; links in it stay links.
        Raises DynoError."""
        self._supervisor.show(folder)
        self.do(["cp", "-R", "--remove-destination", "--preserve=mode,timestamps", "--", f"{folder}/.", "."], cwd=cwd)

    def put(self, texts: Mapping[str, str], *, cwd: Path | None = None) -> None:
        """Write files by their names into the tree or into `cwd`; each may be run. Raises
        DynoError."""
        staged = self._supervisor.live / STAGED
        staged.mkdir()
        try:
            for name, text in texts.items():
                (staged / name).write_text(text)
                (staged / name).chmod(0o755)
            self.copy_in(staged, cwd=cwd)
        finally:
            shutil.rmtree(staged)

    def text(self, name: str) -> str:
        """Read what a file of the tree holds. Raises DynoError where there is no plain file."""
        path = self.place / name
        try:
            with opened(path.parent) as folder, os.fdopen(os.open(path.name, READ, dir_fd=folder), "rb") as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    raise DynoError("this is no plain file", where=str(path))
                return stream.read().decode(errors="replace")
        except OSError as error:
            raise DynoError(f"this file of a source cannot be read: {error.strerror}", where=str(path)) from error


def _first_error(child: Child) -> str:
    """The line that says what is wrong: with several jobs the last lines are others'."""
    found = next((line.strip() for line in child.said().splitlines() if _ERROR.search(line)), "")
    return found or child.tail(2)
