"""What measuring yields: one observation per treatment and block."""

from msgspec import Struct, field


class Cost(Struct, frozen=True):
    """Totals of one arm over its slots of one block. CPU is nanoseconds per component;
    `host_cpu_ns` is the busy time of all cores.

    `requests` were sent, `failed` of them got no valid answer: `kinds` counts those by kind
    (`wrong_status (502)`, `timed_out`). `drive_ns` is the time from each slot's first request to
    its last answer. Service times are those of valid answers. `worker_kib` is the private memory of
    one worker after the block, the median over the pool; None where it could not be read.
    `generator_ns` is CPU of the load generator's threads; None in journals of before it was kept.
    `services_cpu_ns` is by the name of the service (`[service.NAME]`).
    """

    requests: int
    php_cpu_ns: int
    web_cpu_ns: int
    database_cpu_ns: int
    host_cpu_ns: int
    wall_ns: int
    service_p50_ns: int
    service_p99_ns: int
    failed: int = 0
    drive_ns: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    worker_kib: int | None = None
    generator_ns: int | None = None
    services_cpu_ns: dict[str, int] = field(default_factory=dict)

    @property
    def stack_cpu_ns(self) -> int:
        """CPU of all components of the arm together."""
        return self.php_cpu_ns + self.web_cpu_ns + self.database_cpu_ns + sum(self.services_cpu_ns.values())


class Observation(Struct, frozen=True):
    """One treatment against the control within one block.

    `log_ratio` = log(total control cost / total treatment cost), positive when the treatment is
    cheaper; `clipped_log_ratio` is the same with each pair's ratio clipped at 2.5 sigma around the
    block's median (a sensitivity check, never the estimate). For throughput the cost is the time
    per valid completion. `pair_sigma` is the standard deviation of the log ratios of its pairs,
    `pair_spread` / sqrt(pairs) the standard error of `log_ratio` within the block. `steal_fraction`
    is the share of the block stolen by the hypervisor, `lag_fraction` the share of the driving in
    which the generator kept the server waiting. `excluded` names the covariate, declared
    beforehand, for which the block does not count; '' when it counts.
    """

    treatment: str
    block: int
    log_ratio: float
    clipped_log_ratio: float
    pair_sigma: float
    pairs: int
    control: Cost
    treated: Cost
    steal_fraction: float = 0.0
    lag_fraction: float = 0.0
    pair_spread: float = 0.0
    excluded: str = ""
