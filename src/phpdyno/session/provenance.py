"""What a study or a matrix is measured on: parts that were measured on something else may not stand
beside each other."""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import phpdyno
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.cgroup import cpu_source, find_cpu_groups
from phpdyno.host.checkup.readings import read_host_files
from phpdyno.journal.matrix import MatrixRecord
from phpdyno.journal.reader import FILE, begun_in, read_journal
from phpdyno.journal.records import BlockDone
from phpdyno.journal.study import Provenance, StudyRecord
from phpdyno.model.arm import PhpBuild
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import nginx_version

SHOWING = frozenset({"cli", "explain", "report"})
"""Folders of the package that can change neither a measurement nor a verdict. All the rest counts,
the native core too."""
SHOWING_A_COMMAND = frozenset({"render", "view", "view.py", "words.py", "show.py", "options.py"})
"""The same within the folder of a command."""


def read_provenance(builds: Iterable[PhpBuild]) -> Provenance:
    """The code that measures, the host and the servers as they are now; `builds` are those of the
    arms. Raises DynoError."""
    host = read_host_files()
    servers = {"nginx": nginx_version()}
    # Only an app with a database needs it, and that one will say so.
    with suppress(DynoError):
        servers["mariadb"] = Database.version()
    for build in builds:
        servers[f"PHP ({build.fpm})"] = f"{build.version}, build id {build.build_id[:12]}"
        servers |= {f"extension ({path})": digest for path, digest in build.extensions.items()}
    return Provenance(
        code=code_digest(),
        host={
            "kernel": host.kernel.release,
            "processor": host.cpu.model or "unknown",
            "cores": str(len(host.cpu.allowed)),
            "CPU time from": cpu_source(find_cpu_groups()),
        },
        servers=servers,
    )


def refuse_changed(run: Path, record: StudyRecord | MatrixRecord, now: Provenance) -> None:
    """Where a part is finished, or blocks of it are measured, code, host and servers must be the
    same as then.

    Raises UsageError naming what changed.
    """
    kind, parts = ("study", record.parts) if isinstance(record, StudyRecord) else ("matrix", record.apps)
    if not any(part.state == "done" or _has_blocks(run / part.name) for part in parts):
        return
    if record.ground is None:
        what = f"this {kind} does not say what parts of it were measured on, so others may not be added to them"
        raise UsageError(what, where=str(run), next_step=f"start a new {kind}")
    then = record.ground
    changed = [*_changed(then.host, now.host), *_changed(then.servers, now.servers)]
    if then.code != now.code:
        changed.append(f"phpdyno's measuring code {then.code} ({record.phpdyno}), now {now.code}")
    if changed:
        what = f"this is not what parts of the {kind} were measured on: {'; '.join(changed)}"
        raise UsageError(what, where=str(run), next_step=f"start a new {kind}")


def _has_blocks(place: Path) -> bool:
    """Whether a comparison in there has measured any."""
    begun = begun_in(place)
    return begun is not None and any(isinstance(record, BlockDone) for record in read_journal(begun / FILE))


def _changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """A server that only one of the two knows was not there for the parts that need it."""
    return [f"{name} {then[name]}, now {now[name]}" for name in then if name in now and then[name] != now[name]]


def version_of(record: StudyRecord, app: str) -> str:
    """The version of an app that finished parts were measured on; '' while there is none."""
    apps = {each.name: each.app for each in record.study.parts}
    return next((part.app_version for part in record.parts if part.state == "done" and apps[part.name] == app and part.app_version), "")


def refuse_other_version(app: str, then: str, now: str) -> None:
    """What is made or measured of one app is of one version of it; `then` is '' before the first.
    Raises DynoError."""
    if then and then != now:
        what = f"{app} is now {now or 'another'}, and what was done of this before is of {then}"
        raise DynoError(what, next_step="start it anew")


def code_digest() -> str:
    """16 hexadecimal digits that change with any file that a measurement or a verdict depends
    on."""
    package = Path(phpdyno.__file__).parent
    files = [path for path in package.rglob("*") if path.suffix in {".py", ".php", ".toml", ".so"}]
    total = hashlib.sha256()
    for path in sorted(path for path in files if not _only_shows(path.relative_to(package).parts)):
        total.update(str(path.relative_to(package)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def _only_shows(parts: tuple[str, ...]) -> bool:
    return parts[0] in SHOWING or (parts[0] == "commands" and not SHOWING_A_COMMAND.isdisjoint(parts[2:3]))
