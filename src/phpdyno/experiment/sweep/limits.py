"""What limits throughput at each point of a sweep, decided when its rounds are done. Pure."""

from collections.abc import Sequence

from phpdyno.experiment.common.limits.bottleneck import find_bottleneck
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.bottleneck import Bottleneck
from phpdyno.model.runs.sweep import SweepPlan, Visit
from phpdyno.server_files.apache import of_both_kinds
from phpdyno.server_files.php import most_workers
from phpdyno.stats.visits import load_over


def web_beside_php(plan: SweepPlan, host: HostFacts) -> bool:
    """Whether nginx runs on PHP's cores, where Apache's processes run PHP themselves."""
    return of_both_kinds(plan.arms) and not set(host.measured_cores) & set(host.helper_cores)


def limit_of(plan: SweepPlan, arm: Arm, visits: Sequence[Visit], host: HostFacts) -> Bottleneck | None:
    """What limits an arm at one point, by its visits there; None where no visit tells."""
    load = load_over(
        visits,
        workers=most_workers(arm),
        php_cores=host.measured_cores,
        helper_cores=host.helper_cores,
        web_beside_php=web_beside_php(plan, host),
    )
    return None if load is None else find_bottleneck(load)
