"""What both arms of a treatment cost over the blocks that count: descriptions, and one secondary
ratio."""

import math
from collections import Counter
from collections.abc import Sequence

from phpdyno.commands.compare.view.shape import ArmCost, Ratio
from phpdyno.model.observation import Cost, Observation
from phpdyno.stats.comparison.sequence import confidence_sequence
from phpdyno.stats.comparison.whole_stack import stack_log_ratios
from phpdyno.stats.service_time import service_ms

_NS_PER_MS = 1e6
_LARGEST_LOG = 700.0
"""exp() of more does not fit a float."""


def arm_cost(costs: Sequence[Cost]) -> ArmCost | None:
    """Totals per valid request; None when there was none."""
    valid = sum(valid_requests(cost) for cost in costs)
    if valid <= 0:
        return None

    def per_request(total_ns: int) -> float:
        return total_ns / valid / _NS_PER_MS

    kinds: Counter[str] = Counter()
    services = dict.fromkeys(name for cost in costs for name in cost.services_cpu_ns)
    for cost in costs:
        kinds.update(cost.kinds)
    return ArmCost(
        requests=sum(cost.requests for cost in costs),
        php_cpu_ms_per_request=per_request(sum(cost.php_cpu_ns for cost in costs)),
        nginx_cpu_ms_per_request=per_request(sum(cost.web_cpu_ns for cost in costs)),
        database_cpu_ms_per_request=per_request(sum(cost.database_cpu_ns for cost in costs)),
        host_cpu_ms_per_request=per_request(sum(cost.host_cpu_ns for cost in costs)),
        service_p50_ms=service_ms(costs, 50),
        service_p99_ms=service_ms(costs, 99),
        requests_per_s=requests_per_s(costs),
        failed=sum(cost.failed for cost in costs),
        failures=dict(kinds),
        services_cpu_ms_per_request={name: per_request(sum(cost.services_cpu_ns.get(name, 0) for cost in costs)) for name in services},
    )


def requests_per_s(costs: Sequence[Cost]) -> float | None:
    """Valid completions per second of driving; None where the time was not recorded (schema 1)."""
    drive_ns = sum(cost.drive_ns for cost in costs)
    return 1e9 * sum(valid_requests(cost) for cost in costs) / drive_ns if drive_ns else None


def valid_requests(cost: Cost) -> int:
    """Requests that got a valid answer."""
    return cost.requests - cost.failed


def whole_stack(observations: Sequence[Observation], alpha: float, mixture: float) -> Ratio | None:
    """The blocks' comparison repeated for the CPU of all components of the arm; None while its
    interval is infinite."""
    return ratio_of(stack_log_ratios(observations), alpha, mixture)


def ratio_of(log_ratios: Sequence[float], alpha: float, mixture: float) -> Ratio | None:
    """Geometric mean and interval of one log ratio per block; None while infinite, or without a
    block."""
    if not log_ratios:
        return None
    interval = confidence_sequence(log_ratios, alpha, mixture)
    if interval.low is None or interval.high is None or interval.high > _LARGEST_LOG or interval.low < -_LARGEST_LOG:
        return None
    return Ratio(math.exp(interval.mean), math.exp(interval.low), math.exp(interval.high))
