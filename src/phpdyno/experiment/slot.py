"""One slot: drive one instance and read what it cost."""

import time

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno._native import Samples
from phpdyno.drive.driver import Driver, failures
from phpdyno.stack.instance import Instance
from phpdyno.stack.meter import Meter, await_idle


class Lane(Struct, frozen=True):
    """A live instance with the driver that loads it."""

    instance: Instance
    driver: Driver


class SharedMeters(Struct, frozen=True):
    """Meters of what all instances share: the database (None without one) and the whole host."""

    database: Meter | None
    host: Meter


class SlotReading(Struct, frozen=True):
    """What one slot cost, in nanoseconds of CPU per component and of wall time; `failure` in words, '' when every answer was valid."""

    php_ns: int
    web_ns: int
    database_ns: int
    host_ns: int
    wall_ns: int
    samples: Samples
    failure: str


def measure_slot(lane: Lane, shared: SharedMeters, sequence: NDArray[np.uint32]) -> SlotReading:
    """Drive `sequence` and read the meters once every worker is idle again: work after the response belongs to the request."""
    instance = lane.instance
    meters = (instance.php_meter, instance.web_meter, shared.database, shared.host)
    before = [meter.read_ns() if meter else 0 for meter in meters]
    start = time.monotonic_ns()
    samples = lane.driver.drive(sequence)
    await_idle(instance.fpm.pid)
    end = time.monotonic_ns()
    php, web, database, host = ((meter.read_ns() if meter else 0) - earlier for meter, earlier in zip(meters, before, strict=True))
    return SlotReading(php, web, database, host, end - start, samples, failures(samples))
