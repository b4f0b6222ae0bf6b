"""The services of an app: their data is prepared once for each content of a dump, and a copy of it
serves one run."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import structs

from phpdyno.apps.data import databases, postgres_seed, redis_seed
from phpdyno.apps.files.rights import named_file, reader_of
from phpdyno.apps.source import Progress
from phpdyno.config.requests import VARIABLE
from phpdyno.errors import UsageError
from phpdyno.model.services.service import PreparedService, Service
from phpdyno.servers.services.addresses import AddressPlan
from phpdyno.servers.services.kinds import started, version_of
from phpdyno.servers.services.running import RunningService, ServiceStart
from phpdyno.servers.supervision.supervisor import Supervisor


def prepare_services(
    supervisor: Supervisor, services: Sequence[Service], *, cache: Path, file: Path, author: int = 0, progress: Progress
) -> tuple[PreparedService, ...]:
    """Load every dump that is not in the cache yet; the app.toml is `file`, on the word of the
    account `author` (0: root's, or our own).

    Raises DynoError: a server is not installed, a dump is refused.
    """
    for service in services:
        version_of(service.kind)  # what is missing is said before hours of loading
    return tuple(_prepared(supervisor, service, cache=cache, file=file, author=author, progress=progress) for service in services)


def start_services(
    stack: ExitStack,
    supervisor: Supervisor,
    services: Sequence[PreparedService],
    plan: AddressPlan,
    *,
    cores: Sequence[int] = (),
    cgroups_of: Callable[[str], Sequence[Path]] = lambda _: (),
    variables: Mapping[str, str] = os.environ,
) -> tuple[RunningService, ...]:
    """Start all services for as long as `stack` lives, each on a copy of its data; all answer when
    this returns.

    The bottle gets the addresses of `plan`, its names, its directories and its ways out.
    `cgroups_of` gives the cgroups for a component's name (`service-NAME`); `variables` are for
    `{env.NAME}`. Raises DynoError.
    """
    if not services and not plan.through:
        return ()
    if supervisor.no_bottle and not services:
        return ()  # every peer can be reached
    if supervisor.no_bottle:
        raise UsageError(
            f"services stand at production's addresses in a bottle only, and there is none: {supervisor.no_bottle}",
            where=f"service.{services[0].service.name}",
            next_step="leave --no-bottle out",
        )
    filled = [_filled(each, variables) for each in services]
    supervisor.add_addresses(plan.addresses, plan.hosts)
    for folder in plan.folders:
        supervisor.make_private(folder)
    if plan.through:
        supervisor.let_through(plan.through, cores=cores)
    running = []
    for each in filled:
        name = each.service.name
        start = ServiceStart(each.service, plan.listen[name], _copy(supervisor, each), cores, cgroups_of(component_of(each.service)))
        running.append(stack.enter_context(started(supervisor, start)))
    return tuple(running)


def component_of(service: Service) -> str:
    """Name the cgroup, and so the component, of a service."""
    return f"service-{service.name}"


def kept_as_left(supervisor: Supervisor, services: Sequence[PreparedService]) -> tuple[PreparedService, ...]:
    """The services with what a prepare command has left in their data, once they have ended; it
    takes the place of what one before left."""
    kept = []
    for each in services:
        data, place = (supervisor.live / f"service-{each.service.name}-{what}" for what in ("data", "prepared"))
        if each.seed is not None:
            shutil.rmtree(place, ignore_errors=True)
            data.rename(place)
        kept.append(each if each.seed is None else structs.replace(each, seed=place))
    return tuple(kept)


def versions_of_services(services: Sequence[Service]) -> dict[str, str]:
    """Versions of the servers that these services run on, by the kind of service."""
    return {kind: version_of(kind) for kind in dict.fromkeys(service.kind for service in services)}


def _prepared(supervisor: Supervisor, service: Service, *, cache: Path, file: Path, author: int, progress: Progress) -> PreparedService:
    if service.dump is None:
        return PreparedService(service, _seed(supervisor, service, None, cache, progress))
    where = f"{file}: service.{service.name}.dump {service.dump}"
    with named_file(supervisor, service.dump, reader_of(service.dump, author), where=where) as dump:
        return PreparedService(service, _seed(supervisor, service, dump, cache, progress))


def _seed(supervisor: Supervisor, service: Service, dump: Path | None, cache: Path, progress: Progress) -> Path | None:
    """What a server of this kind starts on; None for one that starts empty."""
    if service.kind == "mariadb":
        return databases.seeded(supervisor, cache=cache, dump=dump, database=service.database, progress=progress)
    if service.kind == "postgresql":
        return postgres_seed.seeded(supervisor, service, cache=cache, dump=dump, progress=progress)
    if service.kind == "redis" and dump is not None:
        return redis_seed.seeded(supervisor, service, cache=cache, dump=dump, progress=progress)
    return None


def _copy(supervisor: Supervisor, prepared: PreparedService) -> Path | None:
    if prepared.seed is None:
        return None
    return databases.live_datadir(supervisor, prepared.seed, f"service-{prepared.service.name}-data")


def _filled(prepared: PreparedService, variables: Mapping[str, str]) -> PreparedService:
    """The service with the values of variables in the place of `{env.NAME}`. Raises UsageError: one
    is not set."""
    password = prepared.service.password
    if password is None:
        return prepared
    for name in VARIABLE.findall(password):
        if not variables.get(name):
            where = f"service.{prepared.service.name}.password"
            raise UsageError(f"the environment variable {name} is not set", where=where, next_step=f"set it: {name}=... phpdyno ...")
    whole = VARIABLE.sub(lambda match: variables[match[1]], password)
    return structs.replace(prepared, service=structs.replace(prepared.service, password=whole))
