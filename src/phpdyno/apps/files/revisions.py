"""An app as of one commit: exported from its git repository, which is only read; neither its work
tree nor its index is touched."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, structs

from phpdyno.apps.files.rights import account_of, reader_of
from phpdyno.apps.files.unpack import unpack
from phpdyno.apps.folder import FolderApp
from phpdyno.apps.source import App, Progress
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.app import PreparedApp
from phpdyno.package import APP_FILES
from phpdyno.servers.programs.finding import program_path
from phpdyno.servers.supervision.supervisor import Account, Supervisor
from phpdyno.servers.supervision.tethered import run_tethered

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
_NO_FILTER = {"smudge": "", "process": "", "required": "false"}
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Repository(Struct, frozen=True):
    """A work tree and where in it the app's root lies (`.` for the top)."""

    top: Path
    root: Path

    def commit(self, ref: str, *, where: str) -> str:
        """The full id of the commit that a tag, branch or id names. Raises UsageError with git's
        words."""
        answer = ask_git(self.top, ["rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}"])
        found = answer.stdout.decode(errors="replace").strip()
        if answer.returncode != 0 or not _COMMIT.fullmatch(found):
            raise UsageError(
                f"git knows no such commit: {_words(answer.stderr.decode(errors='replace'))}",
                where=where,
                next_step=f"see: git -C {self.top} log --oneline",
            )
        return found


def repository_of(app: App, *, where: str) -> Repository:
    """The git work tree in which the app's root lies. Raises UsageError: a built-in app, none;
    DynoError: git is not installed."""
    if not isinstance(app, FolderApp) or app.described.root.is_relative_to(APP_FILES):
        raise UsageError(
            "a built-in app has no commits", where=where, next_step="source=… is for an app.toml or --docroot in a git work tree"
        )
    root = app.described.root.resolve()
    answer = ask_git(root, ["rev-parse", "--show-toplevel"])
    if answer.returncode != 0:
        raise UsageError(
            f"{root} lies in no git work tree: {_words(answer.stderr.decode(errors='replace'))}",
            where=where,
            next_step="leave source=… out",
        )
    top = Path(os.fsdecode(answer.stdout.removesuffix(b"\n")))
    if reader_of(app.described.root, app.described.author) and 0 in {root.stat().st_uid, top.stat().st_uid}:
        what = f"git would read {top} as root, who owns it, on another account's word"
        raise UsageError(what, where=where, next_step="give the app.toml, and links on the way, to root alone")
    return Repository(top, root.relative_to(top))


def prepare_commit(
    app: App, commit: str, supervisor: Supervisor, *, cache: Path, progress: Progress, shared: PreparedApp | None = None
) -> PreparedApp:
    """The app with the files of one commit, prepared as the app itself is; its dump and its
    app.toml stay today's. Raises DynoError.

    `shared` is the app itself once that was prepared: arms share one database and the services'
    data.
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
    then = FolderApp(structs.replace(described, root=root, docroot=docroot), described.root)
    prepared = then.prepare(supervisor, cache=cache, progress=progress, place=f"app-{commit[:SHORT]}", shared=shared)
    if prepared.written is None:
        shutil.rmtree(tree)
    return structs.replace(prepared, commit=commit)


def _export(supervisor: Supervisor, repository: Repository, commit: str, tree: Path) -> None:
    """The whole commit, as links may lead from the app's root to other places of it; links belong
    to the repository's owner."""
    archive = tree.with_suffix(".tar")
    argv, env = _command(repository.top, ["archive", "--format=tar", commit])
    env |= _without_filters(repository.top)
    account = _account(repository.top)
    child = supervisor.run("export", argv, env=env, account=account, as_service=False, output=archive, timeout_s=GIT_TIMEOUT_S)
    if child.status != 0:
        raise DynoError(f"git cannot export it: {_words(child.said())}", where=f"commit {commit[:SHORT]} of {repository.top}")
    tree.mkdir()
    unpack(archive, tree)
    archive.unlink()
    _lead_out(tree, repository.top)
    if account:
        _give_links(tree, account)


def archive_of(place: Path, commit: str) -> bytes:
    """A commit of the repository in a directory as a tar archive, made by none of the commands that
    its own configuration names.

    Raises UsageError, DynoError.
    """
    answer = ask_git(place, ["archive", "--format=tar", commit], _without_filters(place))
    if answer.returncode != 0:
        raise DynoError(
            f"git cannot export it: {_words(answer.stderr.decode(errors='replace'))}", where=f"commit {commit[:SHORT]} of {place}"
        )
    return answer.stdout


def _lead_out(tree: Path, top: Path) -> None:
    """A relative link that leads out of the repository leads to where it does in the work tree."""
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink():
                place = os.path.normpath(path.parent.relative_to(tree) / path.readlink())
                if place.split("/")[0] == "..":
                    path.unlink()
                    path.symlink_to(os.path.normpath(top / place))


def _give_links(tree: Path, account: Account) -> None:
    """What a link leads to is read with the rights of its owner, who is not root because root wrote
    it down."""
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink():
                os.lchown(path, *account)


def _without_filters(place: Path) -> dict[str, str]:
    """Settings by which git runs none of the commands that the repository's own configuration names
    for its files (LFS and the like)."""
    answer = ask_git(place, ["config", "--null", "--name-only", "--get-regexp", r"^filter\."])
    names = {key.rpartition(".")[0] for key in os.fsdecode(answer.stdout).split("\0") if key.count(".") > 1}
    settings = [(f"{name}.{key}", value) for name in sorted(names) for key, value in _NO_FILTER.items()]
    pairs = {f"GIT_CONFIG_{kind}_{at}": text for at, pair in enumerate(settings) for kind, text in zip(("KEY", "VALUE"), pair, strict=True)}
    return {"GIT_CONFIG_COUNT": str(len(settings)), **pairs}


def _account(place: Path) -> Account | None:
    """Root runs git as the owner of the work tree: git trusts nobody else's repository, and more
    rights than his are not needed."""
    return account_of(place.stat().st_uid, where=str(place)) if os.geteuid() == 0 else None


def _command(place: Path, command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of git."""
    git = shutil.which("git", path=program_path())
    if git is None:
        raise DynoError(
            "git is not installed", where="source", next_step="install it with: sudo apt-get install --no-install-recommends git"
        )
    argv = [git, "-C", str(place), "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", *command]
    return argv, {"PATH": program_path(), "HOME": os.devnull, **_QUIET}


def ask_git(place: Path, command: Sequence[str], settings: Mapping[str, str] = NO_SETTINGS) -> subprocess.CompletedProcess[bytes]:
    """Run git in a work tree, with further variables. Raises UsageError when it is of somebody whom
    git does not trust here; DynoError."""
    argv, env = _command(place, command)
    try:
        answer = run_tethered(argv, timeout_s=GIT_TIMEOUT_S, env={**env, **settings}, account=_account(place))
    except subprocess.TimeoutExpired as error:
        raise DynoError(f"git did not end within {GIT_TIMEOUT_S:.0f} s", where=str(place)) from error
    if answer.returncode != 0 and b"dubious ownership" in answer.stderr:
        what = "its repository belongs to another account, and git runs what such a repository says only for its owner"
        raise UsageError(what, where=str(place), next_step="run phpdyno as that account, or measure a clone of your own")
    return answer


def _words(said: str) -> str:
    """What git died of, else its last line."""
    lines = said.strip().splitlines() or ["no reason given"]
    return next((line for line in lines if line.startswith("fatal: ")), lines[-1]).removeprefix("fatal: ")
