"""The servers that all instances of an app share, and an app on servers of its own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.data.databases import database_socket, live_datadir
from phpdyno.apps.data.services import component_of, start_services
from phpdyno.apps.source import App
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.host.cgroup import CpuGroups, find_cpu_groups
from phpdyno.host.cores import Cores, split_cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.paths import cache_dir
from phpdyno.server_files.apache import of_both_kinds
from phpdyno.servers.bench import Bench, component_cgroup, component_meter
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.facts.meter import Meter, host_meter
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.services.running import RunningService
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.provenance import refuse_other_version
from phpdyno.session.source import prepare_commits


class SharedServers(Struct, frozen=True):
    """What all instances of a session share: the cgroups (None where none can be made), the app's
    database (None without one), meters, running services."""

    supervisor: Supervisor
    app: PreparedApp
    cores: Cores
    groups: CpuGroups | None
    database: Database | None
    meters: SharedMeters
    services: tuple[RunningService, ...] = ()

    def bench(self, *, transport: Transport = "http", apps: Mapping[str, PreparedApp] | None = None, status: bool = False) -> Bench:
        """The bench that starts instances beside them; `apps`: of the arms that serve another one.

        `status`: instances show php-fpm's status page.
        """
        return Bench(
            self.supervisor,
            self.app,
            cores=self.cores,
            groups=self.groups,
            transport=transport,
            database=self.database,
            apps=apps,
            status=status,
        )


def start_shared(stack: ExitStack, app: PreparedApp, supervisor: Supervisor, cores: Cores) -> SharedServers:
    """Look for cgroups and start the app's private database and services, for as long as `stack`
    lives. Raises DynoError."""
    groups = find_cpu_groups()
    database, meter = _start_database(stack, app, supervisor, cores, groups)
    services = start_services(
        stack,
        supervisor,
        app.services,
        addresses_of([each.service for each in app.services], app.peers),
        cores=cores.helpers,
        cgroups_of=lambda name: component_cgroup(supervisor, groups, name),
    )
    meters = {each.service.name: component_meter(supervisor, groups, component_of(each.service), each.child) for each in services}
    whole = host_meter(groups)
    for each in (whole, *meters.values()):
        stack.callback(each.close)
    return SharedServers(
        supervisor=supervisor,
        app=app,
        cores=cores,
        groups=groups,
        database=database,
        meters=SharedMeters(meter, whole, meters),
        services=services,
    )


def _start_database(
    stack: ExitStack, app: PreparedApp, supervisor: Supervisor, cores: Cores, groups: CpuGroups | None
) -> tuple[Database | None, Meter | None]:
    if app.datadir is None:
        return None, None
    database = stack.enter_context(
        Database.start(
            supervisor,
            datadir=live_datadir(supervisor, app.datadir, "database"),
            socket_path=database_socket(supervisor),
            cores=cores.helpers,
            cgroups=component_cgroup(supervisor, groups, "database"),
        )
    )
    meter = component_meter(supervisor, groups, "database", database.child)
    stack.callback(meter.close)
    return database, meter


class AppServers(Struct, frozen=True):
    """Starts instances of an app, and what is metered and what runs beside them."""

    bench: Bench
    meters: SharedMeters
    services: tuple[RunningService, ...] = ()


@contextmanager
def serving(
    definition: App,
    *,
    logs: Path,
    progress: Progress,
    arms: Sequence[Arm] = (),
    version: str = "",
    transport: Transport = "http",
    workers: int = 1,
) -> Iterator[AppServers]:
    """Prepare an app, with the commits that some of `arms` serve, and start what its instances
    share; all of it ends with the block.

    `workers` of an instance are busy at once.

    Raises DynoError, for an app of another `version` than is wanted (any where that is empty) too.
    """
    cores = split_cores(workers=workers, nginx_beside_php=of_both_kinds(arms))
    with Supervisor(logs) as supervisor, ExitStack() as stack:
        app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
        refuse_other_version(app.name, version, app.version)
        shared = start_shared(stack, app, supervisor, cores)
        apps = prepare_commits(definition, app, arms, supervisor, progress.phase)
        yield AppServers(shared.bench(transport=transport, apps=apps), shared.meters, shared.services)
