"""What the comparisons of a session stand on: servers, the host before the first, versions."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from msgspec import Struct

from phpdyno.apps.data.services import versions_of_services
from phpdyno.errors import DynoError
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.experiment.common.stage import Stage
from phpdyno.host.cgroup import cpu_source
from phpdyno.host.cores import split_cores
from phpdyno.host.preflight import read_host, warnings_for
from phpdyno.journal.records import Preflight
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.notices import OWN_NGINX, first_of, open_words, through_words
from phpdyno.model.plan import Transport
from phpdyno.server_files.apache import is_apache, of_both_kinds
from phpdyno.servers.apache import apache_version
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import nginx_version
from phpdyno.servers.script import ScriptBench
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.app_servers import start_shared


class Environment(Struct, frozen=True):
    """What the comparisons of one session stand on: the stage that starts their instances, shared
    meters, the host before the first."""

    stage: Stage
    meters: SharedMeters
    preflight: Preflight


def open_environment(
    stack: ExitStack,
    app: PreparedApp,
    supervisor: Supervisor,
    *,
    arms: Sequence[Arm],
    transport: Transport,
    workers: int,
    max_steal: float,
    apps: Mapping[str, PreparedApp] | None = None,
) -> Environment:
    """Start what the instances of these arms share, for as long as `stack` lives, and look at the
    host; `workers` are busy at once.

    Raises DynoError.
    """
    cores = split_cores(workers=workers, nginx_beside_php=of_both_kinds(arms), compared=True)
    shared = start_shared(stack, app, supervisor, cores)
    if shared.groups is None:
        _refuse_passing_workers(arms)
    versions = {**versions_of(arms, transport, shared.database), **versions_of_services([each.service for each in app.services])}
    host = read_host(cores, cpu_source(shared.groups), versions)
    stage: Stage = (
        ScriptBench(supervisor, app, cores=cores, groups=shared.groups)
        if transport == "script"
        else shared.bench(transport=transport, apps=apps)
    )
    warnings = (*notices_of(supervisor, app), *warnings_for(host, max_steal))
    return Environment(stage, shared.meters, Preflight(host, warnings))


def notices_of(supervisor: Supervisor, app: PreparedApp) -> tuple[str, ...]:
    """What a report begins with: that the app ran without a bottle, or whom it could reach from
    there, which server block it brought, and what of it was copied where nobody said so."""
    own = (*(OWN_NGINX + note for note in (app.site.notes if app.site else ())), *app.notices)
    if supervisor.no_bottle:
        return (open_words(supervisor.no_bottle), *own)
    return (*((through_words(app.peers),) if app.peers else ()), *own)


def tell_first(warnings: Sequence[str], progress: Progress) -> None:
    """Say before measuring what the report will begin with."""
    for each in first_of(warnings):
        progress.note(each)


def refuse_another_host(before: HostFacts | None, now: HostFacts) -> None:
    """A resumed run goes on only with the servers, the kernel and the accounting that it began
    with."""
    if before is None:
        return
    for what in ("versions", "kernel", "cpu_model", "cpu_source"):
        then, today = getattr(before, what), getattr(now, what)
        if then != today:
            raise DynoError(f"{what.replace('_', ' ')} changed since the run began: {then}, now {today}", next_step="start a new run")


def _refuse_passing_workers(arms: Sequence[Arm]) -> None:
    """Without a cgroup, what an ended worker had used is known to a tick only: pools whose workers
    come and go have no honest figure."""
    for arm in arms:
        if workers_pass(arm):
            raise DynoError(
                "workers of this pool come and go, and without a cgroup the CPU time of one that ended is not known exactly",
                where=arm.name,
                next_step="run as root, where cgroups can be made, or use pool.pm=static without pm.max_requests",
            )


def workers_pass(arm: Arm) -> bool:
    """Whether workers of this arm's pool come and go."""
    pool = arm.layer("pool")
    return pool.get("pm", "static") != "static" or int(pool.get("pm.max_requests", "0")) > 0


def versions_of(arms: Sequence[Arm], transport: Transport, database: Database | None) -> dict[str, str]:
    """Versions of all servers that these arms run on."""
    versions = {f"php ({arm.php.fpm})": arm.php.version for arm in arms}
    if database is not None:
        versions["mariadb"] = Database.version()
    if transport == "http" and not all(is_apache(arm) for arm in arms):
        versions["nginx"] = nginx_version()
    if any(is_apache(arm) for arm in arms):
        versions["apache"] = apache_version()
    return versions
