"""A driven instance for an instance: the driver that its transport wants."""

from collections.abc import Mapping

from phpdyno._native import BodyPattern
from phpdyno.drive.ceiling import CeilingDriver
from phpdyno.drive.connector import ConnectorDriver
from phpdyno.drive.driver import MAX_FAILURES_PER_SLOT, NativeDriver
from phpdyno.drive.requests import LengthClass, native_targets
from phpdyno.drive.script import ScriptDriver
from phpdyno.experiment.common.loaded_answers import LoadedAnswers
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.experiment.common.stage import LiveInstance, Stage
from phpdyno.model.plan import Panel, Transport
from phpdyno.model.workload import Workload
from phpdyno.servers.instance import Instance
from phpdyno.servers.programs.finding import nginx_number
from phpdyno.servers.script import ScriptInstance
from phpdyno.servers.tarantool.ceiling import CeilingInstance
from phpdyno.servers.tarantool.connectors import ConnectorInstance

UNLIMITED = 2**62


class DrivenConnector(DrivenInstance):
    """A driven instance of operations that change what the server holds: each slot finds it as the
    first one did."""

    def __init__(self, instance: ConnectorInstance | CeilingInstance, driver: ConnectorDriver | CeilingDriver) -> None:
        super().__init__(instance, driver)
        self._connector = instance

    def start_slot(self) -> None:
        """Restore the server's space before any meter is read, then set the mark."""
        self._connector.space.restore()
        super().start_slot()


def driven_instance(
    instance: LiveInstance,
    stage: Stage,
    panel: Panel,
    *,
    workload: Workload,
    transport: Transport,
    lengths: Mapping[str, LengthClass],
    keep_conn: bool = False,
    patterns: Mapping[str, BodyPattern] | None = None,
    answers: LoadedAnswers | None = None,
    threads: int = 1,
) -> DrivenInstance:
    """The instance with a driver for the panel's load. Throughput goes on through failed requests,
    because it counts the valid ones.

    `keep_conn`: FastCGI connections are kept for as long as a slot lasts. Bodies are held against
    `patterns` only where `answers` takes them: else a clock that goes on would be a failure.
    """
    if isinstance(instance, CeilingInstance):
        most = CeilingDriver(
            instance.pipeline, instance.frames, in_flight=instance.in_flight, cores=stage.cores.measured, fetch_one=instance.fetch_one
        )
        return DrivenConnector(instance, most)
    if isinstance(instance, ConnectorInstance):
        return DrivenConnector(instance, ConnectorDriver(instance.paths, len(workload.targets)))
    if isinstance(instance, ScriptInstance):
        bounds = [lengths.get(target.label, LengthClass()) for target in workload.targets]
        return DrivenInstance(instance, ScriptDriver(instance.path, bounds), answers)
    limit = UNLIMITED if panel.metric == "throughput" else MAX_FAILURES_PER_SLOT
    driver = native_driver(
        instance,
        workload,
        transport,
        panel.concurrency,
        lengths=lengths,
        patterns=patterns if answers else None,
        keep_conn=keep_conn,
        max_failures=limit,
        threads=threads,
    )
    return DrivenInstance(instance, driver, answers)


def native_driver(
    instance: LiveInstance,
    workload: Workload,
    transport: Transport,
    concurrency: int,
    *,
    lengths: Mapping[str, LengthClass],
    keep_conn: bool,
    max_failures: int,
    threads: int = 1,
    patterns: Mapping[str, BodyPattern] | None = None,
) -> NativeDriver:
    """A driver of the whole workload for an instance of servers; its connections are kept where
    each has a worker to itself."""
    if not isinstance(instance, Instance):
        raise TypeError(f"no driver for a {type(instance).__name__}")
    app = instance.app
    return NativeDriver(
        instance.http if transport == "http" else instance.fastcgi,
        native_targets(
            workload,
            transport,
            docroot=app.docroot,
            front_controller=app.front_controller,
            lengths=lengths,
            patterns=patterns,
            nginx=nginx_number() if transport == "fastcgi" else "",
        ),
        keep_alive=instance.keeps(concurrency) if transport == "http" else keep_conn,
        concurrency=concurrency,
        max_failures=max_failures,
        threads=threads,
        release=keep_conn or instance.keeps_workers,
    )
