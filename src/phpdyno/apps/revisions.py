"""An app as of one commit: exported from its git repository, which is only read; neither its work tree nor its index is touched."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.apps.folder import FolderApp
from phpdyno.apps.source import PHP_FILES, App, Progress
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.app import PreparedApp
from phpdyno.stack.programs import program_path
from phpdyno.stack.supervise import Supervisor

GIT_TIMEOUT_S = 600.0
SHORT = 12
_QUIET = {
    # Nobody's own configuration, no network, no prompts, no lock files.
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Repository(Struct, frozen=True):
    """A work tree and where in it the app's root lies (`.` for the top)."""

    top: Path
    root: Path

    def commit(self, ref: str, *, where: str) -> str:
        """The full id of the commit that a tag, branch or id names. Raises UsageError with git's words."""
        answer = _git(self.top, ["rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}"])
        found = answer.stdout.decode(errors="replace").strip()
        if answer.returncode != 0 or not _COMMIT.fullmatch(found):
            raise UsageError(f"git knows no such commit: {_words(answer)}", where=where, next_step=f"see: git -C {self.top} log --oneline")
        return found


def repository_of(app: App, *, where: str) -> Repository:
    """The git work tree in which the app's root lies. Raises UsageError: a built-in app, none; DynoError: git is not installed."""
    if not isinstance(app, FolderApp) or app.described.root.is_relative_to(PHP_FILES):
        raise UsageError(
            "a built-in app has no commits", where=where, next_step="source=… is for an app.toml or --docroot in a git work tree"
        )
    root = app.described.root.resolve()
    answer = _git(root, ["rev-parse", "--show-toplevel"])
    if answer.returncode != 0:
        raise UsageError(f"{root} lies in no git work tree: {_words(answer)}", where=where, next_step="leave source=… out")
    top = Path(os.fsdecode(answer.stdout.removesuffix(b"\n")))
    return Repository(top, root.relative_to(top))


def prepare_commit(
    app: App, commit: str, supervisor: Supervisor, *, cache: Path, progress: Progress, shared: Path | None = None
) -> PreparedApp:
    """The app with the files of one commit, prepared as the app itself is; its dump and its app.toml stay today's. Raises DynoError.

    `shared` is the data directory of the app itself once that was prepared: arms share one database.
    """
    repository = repository_of(app, where=f"source={commit[:SHORT]}")
    if not isinstance(app, FolderApp):
        raise TypeError("only a folder has commits")
    progress(f"exporting commit {commit[:SHORT]}")
    tree = supervisor.live / f"commit-{commit[:SHORT]}"
    _export(supervisor, repository, commit, tree)
    described = app.described
    root = tree / repository.root
    docroot = root / described.docroot.relative_to(described.root)
    if not docroot.is_dir():
        missing = docroot.relative_to(tree)
        raise DynoError(f"this commit has no directory {missing}", where=f"source={commit[:SHORT]}", next_step="name a later commit")
    then = FolderApp(structs.replace(described, root=root, docroot=docroot))
    prepared = then.prepare(supervisor, cache=cache, progress=progress, place=f"app-{commit[:SHORT]}", shared=shared)
    shutil.rmtree(tree)
    return structs.replace(prepared, commit=commit)


def _export(supervisor: Supervisor, repository: Repository, commit: str, tree: Path) -> None:
    """The whole commit, as links may lead from the app's root to other places of it."""
    archive = tree.with_suffix(".tar")
    with archive.open("wb") as stream:
        answer = _git(repository.top, ["archive", "--format=tar", commit], stdout=stream)
    if answer.returncode != 0:
        raise DynoError(f"git cannot export it: {_words(answer)}", where=f"commit {commit[:SHORT]} of {repository.top}")
    tree.mkdir()
    argv = ["tar", "--extract", "--no-same-owner", f"--file={archive}", f"--directory={tree}"]
    child = supervisor.run("export", argv, as_service=False, timeout_s=GIT_TIMEOUT_S)
    archive.unlink()
    if child.status != 0:
        raise DynoError(f"unpacking the commit {child.ended_how()}: {child.tail(2)}", where=str(tree), next_step="check the disk's room")


def _git(place: Path, command: Sequence[str], stdout: object = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    """Run git in a work tree, as its owner where we may: git trusts nobody else's repository, and more rights than his are not needed."""
    git = shutil.which("git", path=program_path())
    if git is None:
        raise DynoError(
            "git is not installed", where="source", next_step="install it with: sudo apt-get install --no-install-recommends git"
        )
    owner = place.stat()
    account = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    trusted = [] if os.geteuid() in {0, owner.st_uid} else ["-c", "safe.directory=*"]
    argv = [git, "-C", str(place), *trusted, "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", *command]
    env = {"PATH": program_path(), "HOME": os.devnull, **_QUIET}
    try:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=GIT_TIMEOUT_S, env=env, **account
        )
    except subprocess.TimeoutExpired as error:
        raise DynoError(f"git did not end within {GIT_TIMEOUT_S:.0f} s", where=str(place)) from error


def _words(answer: subprocess.CompletedProcess[bytes]) -> str:
    lines = answer.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
    return lines[-1].removeprefix("fatal: ")
