"""An app on servers of its own: for what is no comparison, but runs it all the same."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.source import App
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.host.cores import split_cores
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Transport
from phpdyno.paths import cache_dir
from phpdyno.server_files.apache import of_both_kinds
from phpdyno.servers.bench import Bench
from phpdyno.servers.services.running import RunningService
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.environment import start_shared
from phpdyno.session.provenance import refuse_other_version
from phpdyno.session.source import prepare_commits


class AppServers(Struct, frozen=True):
    """Starts instances of an app, and what is metered and what runs beside them."""

    bench: Bench
    meters: SharedMeters
    services: tuple[RunningService, ...] = ()


@contextmanager
def app_stand(
    definition: App,
    *,
    logs: Path,
    progress: Progress,
    arms: Sequence[Arm] = (),
    version: str = "",
    transport: Transport = "http",
    workers: int = 1,
) -> Iterator[AppServers]:
    """Prepare an app, with the commits that some of `arms` serve, and start what its instances share; all of it ends with the block.

    `workers` of an instance are busy at once.

    Raises DynoError, for an app of another `version` than is wanted (any where that is empty) too.
    """
    cores = split_cores(workers=workers, nginx_beside_php=of_both_kinds(arms))
    with Supervisor(logs) as supervisor, ExitStack() as stack:
        app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
        refuse_other_version(app.name, version, app.version)
        shared = start_shared(stack, app, supervisor, cores)
        apps = prepare_commits(definition, app, arms, supervisor, progress.phase)
        bench = Bench(supervisor, app, cores=cores, groups=shared.groups, transport=transport, database=shared.database, apps=apps)
        yield AppServers(bench, shared.meters, shared.services)
