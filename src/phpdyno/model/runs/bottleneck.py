"""What limits throughput at one point of load: the readings, the shares made of them, and the
finding."""

import math
from typing import Literal

from msgspec import Struct

Kind = Literal[
    "stolen",
    "shared_core",
    "all_full",
    "php",
    "stranger_beside_php",
    "database",
    "web",
    "generator",
    "helpers",
    "stranger_beside_helpers",
    "workers",
    "starting_workers",
    "concurrency",
    "offered_rate",
    "unknown",
]
"""The finding. `helpers`: their core is full, and none of them has most of it. `starting_workers`:
requests wait although the pool may have a worker for each. `unknown`: nothing that was read is
full."""


class Load(Struct, frozen=True):
    """Readings over one interval; CPU in nanoseconds, cores by number. None is what could not be
    read, or is not there.

    `concurrency` is the closed loop's, None for an open loop. `php_cores_ns` and `helper_cores_ns`
    are all that ran on these cores, and `stolen_ns` what the hypervisor took of both.
    `busy_workers` is a mean of the status page's `active`, `queue_share` the share of samples with
    somebody waiting. `network_ns` is the kernel's time in interrupts on all these cores. The
    generator drives on `generator_threads`, nginx has `web_workers` processes; `services_ns` is CPU
    of all services together.
    """

    duration_ns: int
    concurrency: int | None
    workers: int
    php_cores: tuple[int, ...]
    helper_cores: tuple[int, ...]
    php_ns: int
    generator_ns: int
    web_ns: int | None = None
    database_ns: int | None = None
    php_cores_ns: int | None = None
    helper_cores_ns: int | None = None
    stolen_ns: int | None = None
    busy_workers: float | None = None
    queue_share: float | None = None
    network_ns: int | None = None
    generator_threads: int = 1
    services_ns: int | None = None
    web_workers: int = 1

    def __post_init__(self) -> None:
        """Raises ValueError for what no interval can be."""
        counts = (self.php_ns, self.generator_ns, self.web_ns, self.database_ns, self.php_cores_ns, self.helper_cores_ns, self.stolen_ns)
        if min(self.duration_ns, self.workers, self.generator_threads, self.web_workers) < 1 or (
            self.concurrency is not None and self.concurrency < 1
        ):
            raise ValueError("an interval has a length, a pool a worker, a generator a thread, and a closed loop a request in flight")
        if not self.php_cores or not self.helper_cores:
            raise ValueError("every component has a core")
        if any(count is not None and count < 0 for count in (*counts, self.network_ns, self.services_ns)):
            raise ValueError("CPU time only grows")
        if self.busy_workers is not None and not (math.isfinite(self.busy_workers) and self.busy_workers >= 0):
            raise ValueError("busy workers are a number")
        if self.queue_share is not None and not 0 <= self.queue_share <= 1:
            raise ValueError("a share lies between 0 and 1")


class Shares(Struct, frozen=True):
    """Shares of core time: `php` of php-fpm's cores, `web`, `database`, `services` and `generator`
    of the helpers', `*_cores` all that ran there.

    `one_web`, `one_generator` and `one_worker` are of one core: nginx's process, each thread of the
    generator and a worker cannot use more. `stolen` is of the time in which the cores had work.
    """

    php: float
    php_cores: float
    helper_cores: float
    generator: float
    web: float | None
    database: float | None
    one_web: float
    one_generator: float
    one_worker: float
    stolen: float
    network: float
    services: float | None = None


class Bottleneck(Struct, frozen=True):
    """A finding with all that it rests on."""

    kind: Kind
    load: Load
    shares: Shares
