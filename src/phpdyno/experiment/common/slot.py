"""One slot: drive one instance and read what it cost."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from phpdyno.drive.driver import Driver, Samples, failure_kinds
from phpdyno.experiment.common.stage import LiveInstance
from phpdyno.model.plan import Metric
from phpdyno.servers.facts.meter import Meter


class TakesAnswers(Protocol):
    """Whoever counts answers by arm."""

    def take(self, arm: str, samples: Samples) -> None:
        """The answers of one slot of an arm; marks as answered what is not to be a failure."""


class DrivenInstance:
    """A live instance with the driver that loads it, and how much CPU its processes had used when
    its last slot was read."""

    def __init__(self, instance: LiveInstance, driver: Driver, answers: TakesAnswers | None = None) -> None:
        """`answers` takes those of every slot; without one an answer with another body than
        expected is a failed request."""
        self.instance = instance
        self.driver = driver
        self._answers = answers
        self._marks: tuple[int, int] | None = None

    def hand_over(self, samples: Samples) -> None:
        """Give the answers of a slot to whoever counts them."""
        if self._answers is not None:
            self._answers.take(self.instance.arm.name, samples)

    def begin(self) -> None:
        """Forget the last slot: what ran since (probes, warm-up) belongs to no slot."""
        self._marks = None

    def start_slot(self) -> None:
        """Set the mark for the first slot; later ones go on from the last.

        Work that goes on after a slot was read (a worker that waits for the database after its
        response) is thus charged to the same arm's next slot instead of to nobody.
        """
        if self._marks is None:
            self._marks = self._used_ns()

    def advance(self) -> tuple[int, int]:
        """CPU nanoseconds of php-fpm and of nginx since the mark, which moves to now."""
        now = self._used_ns()
        before, self._marks = self._marks or now, now
        return now[0] - before[0], now[1] - before[1]

    def _used_ns(self) -> tuple[int, int]:
        web = self.instance.web_meter
        return self.instance.php_meter.read_ns(), web.read_ns() if web else 0


class SharedMeters(Struct, frozen=True):
    """Meters of what all instances share: the database (None without one), the whole host, and each
    service by its name."""

    database: Meter | None
    host: Meter
    services: Mapping[str, Meter] = field(default_factory=dict)


class SlotReading(Struct, frozen=True):
    """What one slot cost, in nanoseconds of CPU per component and of wall time.

    `drive_ns` is the time from the first request to the last answer, `unfilled_ns` that part of it,
    summed over the requests that should have been in flight, in which they were not. `failures`
    counts the requests without a valid answer by kind. `generator_ns` is CPU of the threads that
    drove, no component's; `services_ns` is by the name of the service.
    """

    php_ns: int
    web_ns: int
    database_ns: int
    host_ns: int
    wall_ns: int
    samples: Samples
    drive_ns: int
    unfilled_ns: int
    failures: Counter[str]
    generator_ns: int = 0
    services_ns: Mapping[str, int] = field(default_factory=dict)

    @property
    def valid(self) -> int:
        """Requests with a valid answer."""
        return int(self.samples.outcome.size) - self.failures.total()

    def cost_ns(self, metric: Metric) -> float:
        """What the metric compares: CPU of PHP, or the time that as many valid completions as
        requests would have taken."""
        return float(self.php_ns) if metric == "cpu" else self.drive_ns * self.samples.outcome.size / max(1, self.valid)


def measure_slot(driven: DrivenInstance, shared: SharedMeters, sequence: NDArray[np.uint32]) -> SlotReading:
    """Drive `sequence` and read the meters once every worker is idle again: work after the response
    belongs to the request."""
    driven.start_slot()
    meters = (shared.database, shared.host, *shared.services.values())
    before = [meter.read_ns() if meter else 0 for meter in meters]
    start = time.monotonic_ns()
    cpu_ns = time.thread_time_ns()
    samples = driven.driver.drive(sequence)
    # Threads that the generator adds tell their own; drivers without any have no such column.
    generator = time.thread_time_ns() - cpu_ns + int(getattr(samples, "other_threads_cpu_ns", 0))
    driven.instance.await_idle()
    end = time.monotonic_ns()
    php, web = driven.advance()
    database, host, *services = ((meter.read_ns() if meter else 0) - earlier for meter, earlier in zip(meters, before, strict=True))
    # After the meters: looking at answers is nothing that the host did for the slot.
    driven.hand_over(samples)
    kinds = failure_kinds(samples)
    drive_ns = int(samples.ended_ns) - int(samples.started_ns)
    in_flight = min(driven.driver.concurrency, int(sequence.size))
    # A failed request has no end to reckon with.
    unfilled = 0 if kinds else unfilled_ns(samples, in_flight)
    return SlotReading(
        php_ns=php,
        web_ns=web,
        database_ns=database,
        host_ns=host,
        wall_ns=end - start,
        samples=samples,
        drive_ns=drive_ns,
        unfilled_ns=unfilled,
        failures=kinds,
        generator_ns=generator,
        services_ns=dict(zip(shared.services, services, strict=True)),
    )


def unfilled_ns(samples: Samples, in_flight: int) -> int:
    """Nanoseconds in which requests that should have been in flight were not, summed over them; 0
    when the generator was never late.

    Up to the last request's sending: how a slot drains afterwards is not the generator's doing.
    """
    last_ns = samples.sent_ns.max()
    held = int((np.minimum(samples.done_ns, last_ns) - samples.sent_ns).sum())
    return max(0, in_flight * (int(last_ns) - int(samples.started_ns)) - held)


def service_ns(samples: Samples) -> NDArray[np.uint64]:
    """Service time of each request: done - sent, nanoseconds."""
    return samples.done_ns - samples.sent_ns
