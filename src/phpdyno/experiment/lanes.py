"""A lane for an instance: the driver that its transport wants."""

from collections.abc import Mapping

from phpdyno.drive.driver import MAX_FAILURES_PER_SLOT, NativeDriver
from phpdyno.drive.requests import LengthClass, native_targets
from phpdyno.experiment.slot import Lane
from phpdyno.model.plan import Panel, Transport
from phpdyno.model.workload import Workload
from phpdyno.stack.bench import Bench
from phpdyno.stack.instance import Instance

UNLIMITED = 2**62


def make_lane(
    instance: Instance, bench: Bench, panel: Panel, *, workload: Workload, transport: Transport, lengths: Mapping[str, LengthClass]
) -> Lane:
    """The instance with a driver for the panel's load. Throughput goes on through failed requests, because it counts the valid ones."""
    targets = native_targets(workload, transport, docroot=bench.app.docroot, front_controller=bench.app.front_controller, lengths=lengths)
    address = instance.http if transport == "http" else instance.fastcgi
    limit = UNLIMITED if panel.metric == "throughput" else MAX_FAILURES_PER_SLOT
    return Lane(instance, NativeDriver(address, targets, keep_alive=transport == "http", concurrency=panel.concurrency, max_failures=limit))
