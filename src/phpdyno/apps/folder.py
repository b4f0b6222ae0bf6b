"""An app from a folder: what an app.toml describes, or a plain document root with its URLs."""

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.apps.data import databases
from phpdyno.apps.data.services import kept_as_left, prepare_services, start_services
from phpdyno.apps.files.beside import BesideRoot, refuse_unfit, stand_beside
from phpdyno.apps.files.copies import copy_without, give_to_service, make_empty, require_room_for, tree_digest
from phpdyno.apps.files.links import mend_links
from phpdyno.apps.files.rights import copy_linked, copy_named, named_file, place_and_reader
from phpdyno.apps.files.site import site_of
from phpdyno.apps.files.standing import FilesLeftOut, is_large, stand_tree
from phpdyno.apps.project.root import find_root
from phpdyno.apps.source import Progress, default_env
from phpdyno.config.app_toml import DB_SOCKET, AppFile, check_target_path
from phpdyno.config.services import check_dumps
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.sockets.network import NO_BOTTLE
from phpdyno.journal.reader import FILE as JOURNAL
from phpdyno.model.app import AppSetting, PreparedApp
from phpdyno.model.nginx import NginxSite
from phpdyno.model.workload import Target, Workload
from phpdyno.package import APP_FILES
from phpdyno.server_files.nginx_site import text_of
from phpdyno.server_files.php import as_written, scan_path
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.supervision.supervisor import Supervisor

PREPARE_LOG = "prepare-app"
PREPARE_TIMEOUT_S = 1800.0
NOT_COPIED = frozenset({".git", ".hg", ".svn"})
SOCKET_ENV = "PHPDYNO_DB_SOCKET"
DATABASE_ENV = "PHPDYNO_DB_NAME"


class FolderApp:
    """Copied for each run into the live directory, owned and writable by the servers' account:
    frameworks write caches below their root."""

    def __init__(self, described: AppFile, original: Path | None = None) -> None:
        """`original`: where the app stands, if its files are described to lie elsewhere (those of a
        commit).

        Raises UsageError when a file or directory that is named does not exist.
        """
        self.described = described
        self.original = original or described.root
        file = described.file
        for key, path in (("root", described.root), ("docroot", described.docroot)):
            if not path.is_dir():
                raise UsageError("there is no such directory", where=f"{file}: {key} {path}", next_step="write it relative to the file")
        if described.sql is not None and not described.sql.is_file():
            raise UsageError("there is no such SQL dump", where=f"{file}: sql {described.sql}", next_step="write it relative to the file")
        check_dumps(described.services, file)
        self.site = site_of(described)
        refuse_unfit(described.also, where=str(file))
        front = described.docroot / described.front_controller
        if described.front_controller != "index.php" and not front.is_file():
            raise UsageError(
                "there is no such front controller", where=f"{file}: front_controller {front}", next_step="it is relative to docroot"
            )

    @property
    def name(self) -> str:
        """The name that the file gives it."""
        return self.described.name

    @property
    def workload(self) -> Workload:
        """The file's targets."""
        described = self.described
        return Workload(described.targets, described.host, described.scheme, described.forwarded, described.accept_encoding)

    @property
    def settings(self) -> dict[str, AppSetting]:
        """The file's `[setting.NAME]` tables."""
        return self.described.settings

    @property
    def fixed(self) -> frozenset[str]:
        """The file's `[env]` and `[ini]`, and with a database how that is reached."""
        ini, env = self._told({})
        return frozenset((*(f"ini.{name}" for name in ini), *(f"env.{name}" for name in env)))

    def _told(self, defaults: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """php.ini settings and variables of every arm, these on top of `defaults`."""
        described = self.described
        ini, env = dict(described.ini), {**defaults, **described.env}
        if described.database is None:
            return ini, env
        return {**databases.INI, **ini}, {SOCKET_ENV: DB_SOCKET, DATABASE_ENV: described.database, **env}

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """A version made of its files as they are copied, of its dump and of its description."""
        return self.prepare(supervisor, cache=cache, progress=progress).version

    def prepare(
        self, supervisor: Supervisor, *, cache: Path, progress: Progress, place: str = "app", shared: PreparedApp | None = None
    ) -> PreparedApp:
        """Copy to `place`, load the dump (once per content), run the prepare command. Raises
        DynoError.

        Where another revision of the app was prepared before, that is `shared`: this one's command
        runs on its data too.
        """
        described = self.described
        self._refuse_without_bottle(supervisor)
        begun_ns = time.time_ns()
        tree = self._tree(supervisor, progress, place, shared)
        root = self.original if tree.seen_at else tree.place
        docroot = root / described.docroot.relative_to(described.root)
        beside = self._beside(supervisor, progress, shared)
        seed = beside.digest
        datadir = None
        ini, env = self._told(default_env(described.settings))
        if described.database is not None:
            datadir = self._seeded(supervisor, described.database, cache, progress)
            seed += datadir.parent.name
        services = prepare_services(
            supervisor, described.services, cache=cache, file=described.file, author=described.author, progress=progress
        )
        seed += "".join(f" {each.seed.parent.name}" for each in services if each.seed)
        services = shared.services if shared else services
        if described.prepare:
            progress("running the app's prepare command: " + " ".join(described.prepare)[:80])
            with ExitStack() as stack:
                if datadir is not None:
                    datadir = (shared and shared.datadir) or databases.live_datadir(supervisor, datadir, "prepared-datadir")
                    stack.enter_context(databases.serving(supervisor, datadir))
                start_services(stack, supervisor, services, addresses_of(described.services, described.network))
                self._run(supervisor, root, ini, env, {**({tree.place: tree.seen_at} if tree.seen_at else {}), **dict(beside.places)})
            services = kept_as_left(supervisor, services)
        return PreparedApp(
            name=described.name,
            docroot=docroot,
            workload=self.workload,
            front_controller=described.front_controller,
            datadir=datadir,
            ini=ini,
            env=env,
            version=_version(described, tree.files, seed, self.site),
            settings=described.settings,
            root=root,
            original=self.original,
            place=tree.place if tree.seen_at else None,
            seen_at=tree.seen_at,
            written=tree.written,
            begun_ns=begun_ns,
            left_out=tree.left_out,
            linked=tree.linked,
            services=services,
            peers=described.network,
            site=self.site,
            notices=described.notices,
            also=beside.places,
        )

    def _beside(self, supervisor: Supervisor, progress: Progress, shared: PreparedApp | None) -> BesideRoot:
        """What the app has outside of its root; another revision's where that was prepared."""
        if shared is not None:
            return BesideRoot(shared.also)
        for place in self.described.also:
            progress(f"copying {place}")
        return stand_beside(supervisor, self.described.also, partial(self._copy_beside, supervisor), where=str(self.described.file))

    def _copy_beside(self, supervisor: Supervisor, source: Path, into: Path, where: str) -> None:
        read, reader = place_and_reader(source, self.described.author, supervisor)
        into.mkdir(mode=0o700)
        require_room_for(read, into, where=where, next_step="leave it out of also, or set PHPDYNO_LIVE")
        if reader:
            copy_named(supervisor, reader, source, into, left_out=(), where=where)
        else:
            copy_without(supervisor, read, into, ())
        give_to_service(supervisor, into)
        into.chmod(0o755)

    def _show_named(self, supervisor: Supervisor) -> None:
        """Let the prepare command see the files that it names outside the root, where that is no
        other account's wish."""
        for word in self.described.prepare:
            path = Path(word)
            if path.is_absolute() and path.exists() and not path.is_relative_to(self.original):
                _, reader = place_and_reader(path, self.described.author)
                if not reader:
                    supervisor.show(path)

    def _refuse_without_bottle(self, supervisor: Supervisor) -> None:
        """Nobody's app runs in the open unless its operator says so; ours touches nothing."""
        if supervisor.no_bottle in {"", NO_BOTTLE} or self.described.root.is_relative_to(APP_FILES):
            return
        raise UsageError(
            f"this app would reach the host's network and files, as no namespaces can be made here: {supervisor.no_bottle}",
            where=str(self.described.file),
            next_step="run as root on the host itself, allow user namespaces, or measure it in the open with --no-bottle",
        )

    def _tree(self, supervisor: Supervisor, progress: Progress, place: str, shared: PreparedApp | None) -> "_Tree":
        """The app's files: a copy where that is quickly made, an overlay over a large tree where
        there can be one. `shared` is another revision that was prepared."""
        source = self.described.root
        if supervisor.live.resolve().is_relative_to(source.resolve()):
            raise UsageError(
                "the live directory lies in the app's root", where=str(supervisor.live), next_step="set PHPDYNO_LIVE, e.g. to /tmp"
            )
        read, reader = place_and_reader(source, self.described.author, supervisor)
        logs = supervisor.logs.resolve()
        gone = sorted(entry.name for entry in source.iterdir() if entry.name in NOT_COPIED or _is_ours(entry, logs))
        left = FilesLeftOut(tuple(gone), self.described.exclude)
        seen_at = None if supervisor.no_bottle else supervisor.make_place(self.original)
        # Arms of one app have their files in one way: reading in an overlay is not quite as fast.
        if seen_at and (is_large(supervisor, read, reader) if shared is None else shared.written is not None):
            progress(f"looking through {source}")
            where = f"{self.described.file}: root {source}"
            # What was exported of a commit is a part of it; by the path of the work tree a link
            # would lead to what is there today.
            exported = read.is_relative_to(supervisor.live)
            standing = stand_tree(supervisor, read, seen_at, reader=reader, left_out=left, where=where, by_itself=exported)
            if standing is not None:
                return _Tree(standing.seen, standing.files, seen_at, (*left.gone, *left.emptied), standing.written, standing.linked)
        progress(f"copying {source}")
        without = (*left.gone, *left.emptied)
        copy, files = self._copy(supervisor, supervisor.live / place, read, reader, without)
        return _Tree(copy, files, seen_at, without)

    def _copy(self, supervisor: Supervisor, into: Path, read: Path, reader: int, without: Sequence[str]) -> tuple[Path, str]:
        """The copy `into`, of what is `read` with the rights of `reader`, and a digest of it.

        No other account can enter it before it is complete.
        """
        source = self.described.root
        where = f"{self.described.file}: root {source}"
        into.mkdir(mode=0o700)
        require_room_for(read, into, without=without, where=where, next_step="leave directories out with exclude, or set PHPDYNO_LIVE")
        if reader:
            copy_named(supervisor, reader, source, into, left_out=without, where=where)
        else:
            copy_without(supervisor, read, into, without)
        make_empty(into, source, self.described.exclude)
        seen_at = None if supervisor.no_bottle else self.original
        try:
            mend_links(into, source, partial(copy_linked, supervisor, reader=reader), seen_at=seen_at)
        except OSError as error:
            raise DynoError(f"the app was changed while it was copied: {error.strerror}", where=str(error.filename or source)) from error
        files = tree_digest(into)
        give_to_service(supervisor, into)
        into.chmod(0o755)
        return into, files

    def _seeded(self, supervisor: Supervisor, database: str, cache: Path, progress: Progress) -> Path:
        sql = self.described.sql
        if sql is None:
            return databases.seeded(supervisor, cache=cache, dump=None, database=database, progress=progress)
        read, reader = place_and_reader(sql, self.described.author)
        with named_file(supervisor, sql if reader else read, reader, where=f"{self.described.file}: sql {sql}") as dump:
            return databases.seeded(supervisor, cache=cache, dump=dump, database=database, progress=progress)

    def _run(self, supervisor: Supervisor, root: Path, ini: dict[str, str], env: dict[str, str], binds: Mapping[Path, Path]) -> None:
        """The prepare command, in the copy, with the settings that the app is served with. Its
        output goes to logs/prepare-app.log."""
        socket = str(databases.database_socket(supervisor))
        # What configures it lies beside, not in, the directory that it may write to.
        fragment = supervisor.live / "prepare"
        fragment.mkdir(mode=0o755, exist_ok=True)
        # For the parser of whichever PHP the command runs.
        lines = (f"{name} = {as_written(value.replace(DB_SOCKET, socket))}\n" for name, value in sorted(ini.items()))
        (fragment / "phpdyno.ini").write_text("".join(lines))
        home = supervisor.directory("prepare-home", private=False)
        placed = {name: value.replace(DB_SOCKET, socket) for name, value in env.items()}
        self._show_named(supervisor)
        child = supervisor.run(
            PREPARE_LOG,
            list(self.described.prepare),
            env={"HOME": str(home), "PHP_INI_SCAN_DIR": scan_path(fragment), **placed},
            cwd=root,
            binds=binds,
            timeout_s=PREPARE_TIMEOUT_S,
        )
        if child.status != 0:
            where = f"{self.described.file}: prepare"
            raise DynoError(f"the prepare command {child.ended_how()}: {child.tail()}", where=where, next_step=f"see {child.log}")


class _Tree(Struct, frozen=True):
    """An app's files in a run: where they lie, for the servers to see at `seen_at` (None: there); a
    digest of them; what of the original is left out; where in the live directory lies what is
    written to an overlay; where its links lead to."""

    place: Path
    files: str
    seen_at: Path | None
    left_out: tuple[str, ...] = ()
    written: Path | None = None
    linked: tuple[Path, ...] = ()


def _is_ours(entry: Path, logs: Path) -> bool:
    """Whether an entry of the root holds this run, or is an earlier one."""
    try:
        return logs.is_relative_to(entry.resolve()) or (entry / JOURNAL).is_file()
    except (OSError, RuntimeError):
        # A link to itself, or a directory that we may not enter: a run of ours is neither.
        return False


def _version(described: AppFile, files: str, seed: str, site: NginxSite | None = None) -> str:
    """16 hexadecimal digits that change with whatever of the app can change a measurement: `files`
    as they were copied, the database that the dump filled (`seed` names it by its content), and the
    settings of the app.toml."""
    settings = {
        "docroot": str(described.docroot.relative_to(described.root)),
        "front_controller": described.front_controller,
        "host": described.host,
        "database": described.database,
        "services": [repr(service) for service in described.services],
        "prepare": described.prepare,
        # An app without these has the version that it had before there were any.
        **({"scheme": described.scheme, "forwarded": described.forwarded} if described.scheme != "http" else {}),
        **({"nginx": [text_of(site.http), text_of(site.server)]} if site else {}),
        **({"exclude": described.exclude} if described.exclude else {}),
        **({"network": sorted(map(str, described.network))} if described.network else {}),
        "ini": described.ini,
        "env": {**default_env(described.settings), **described.env},
    }
    text = json.dumps({"files": files, "seed": seed, **settings}, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def plain_docroot(docroot: Path, urls: Sequence[str]) -> FolderApp:
    """A document root without an app.toml; every URL, `/` when there is none, has weight 1. Raises
    UsageError."""
    path = docroot.expanduser().absolute()
    if not path.is_dir():
        raise UsageError("there is no such directory", where=f"--docroot {docroot}")
    for url in urls:
        check_target_path(url, where="--url")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.resolve().name).strip("-._") or "docroot"
    targets = tuple(Target(url) for url in dict.fromkeys(urls or ["/"]))
    described = AppFile(file=path, name=name[:64], root=path, docroot=path, targets=targets, root_named=False)
    return FolderApp(with_found_root(described, where=f"--docroot {docroot}"))


def with_found_root(described: AppFile, *, where: str) -> AppFile:
    """The description with the project's root, where its file says of none and more is needed than
    the docroot. Raises UsageError where that is not copied unasked."""
    if described.root_named or not described.docroot.is_dir():
        return described
    found = find_root(described.docroot, described.front_controller, where=where)
    if found is None:
        return described
    return structs.replace(described, root=found.root, docroot=found.docroot, notices=(*described.notices, found.words))
