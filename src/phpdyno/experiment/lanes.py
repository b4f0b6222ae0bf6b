"""A lane for an instance: the driver that its transport wants."""

from collections.abc import Mapping

from phpdyno.drive.driver import MAX_FAILURES_PER_SLOT, NativeDriver
from phpdyno.drive.requests import LengthClass, native_targets
from phpdyno.drive.script import ScriptDriver
from phpdyno.experiment.slot import Lane
from phpdyno.experiment.stage import LiveInstance, Stage
from phpdyno.model.plan import Panel, Transport
from phpdyno.model.workload import Workload
from phpdyno.stack.instance import Instance
from phpdyno.stack.script import ScriptInstance

UNLIMITED = 2**62


def make_lane(
    instance: LiveInstance,
    stage: Stage,
    panel: Panel,
    *,
    workload: Workload,
    transport: Transport,
    lengths: Mapping[str, LengthClass],
    keep_conn: bool = False,
) -> Lane:
    """The instance with a driver for the panel's load. Throughput goes on through failed requests, because it counts the valid ones.

    `keep_conn`: FastCGI connections are kept for as long as a slot lasts.
    """
    if isinstance(instance, ScriptInstance):
        return Lane(instance, ScriptDriver(instance.path, [lengths.get(target.label, LengthClass()) for target in workload.targets]))
    if not isinstance(instance, Instance):
        raise TypeError(f"no driver for a {type(instance).__name__}")
    app = instance.app
    targets = native_targets(workload, transport, docroot=app.docroot, front_controller=app.front_controller, lengths=lengths)
    address = instance.http if transport == "http" else instance.fastcgi
    limit = UNLIMITED if panel.metric == "throughput" else MAX_FAILURES_PER_SLOT
    driver = NativeDriver(
        address,
        targets,
        keep_alive=instance.keeps(panel.concurrency) if transport == "http" else keep_conn,
        concurrency=panel.concurrency,
        max_failures=limit,
        release=keep_conn or instance.keeps_workers,
    )
    return Lane(instance, driver)
