"""What blocks themselves show against a comparison: requests per second that were limited by what
runs beside PHP, so that a difference in PHP may not show, and a PHP that ran elsewhere than where
it is measured. Pure."""

from collections.abc import Sequence

from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.experiment.common.bottleneck import find_bottleneck
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.plan import Plan
from phpdyno.model.runs.bottleneck import Bottleneck, Kind, Load
from phpdyno.report.bottleneck import beside_php_words
from phpdyno.server_files.apache import is_apache, of_both_kinds
from phpdyno.server_files.php import most_workers

BESIDE_PHP: frozenset[Kind] = frozenset({"database", "web", "generator", "helpers"})
"""Findings in which nginx, database or generator was full, and PHP's cores were not."""

MOST_OF_CORES = 1.1
"""What PHP does after its last answer counts in the next slot, whose seconds it did not take."""

Slots = Sequence[tuple[Cost, float]]
"""What an arm took in each block, and the share of that block that was stolen."""


def doubts_of_blocks(gathered: GatheredRecords, arm: Arm, counted: Sequence[Observation]) -> tuple[str, ...]:
    """The warnings of a treatment that its blocks give rise to, of those that count."""
    return (*_limited_beside_php(gathered, arm, counted), *_ran_elsewhere(gathered, counted))


def _limited_beside_php(gathered: GatheredRecords, arm: Arm, counted: Sequence[Observation]) -> tuple[str, ...]:
    """The warning of a throughput treatment, from its blocks that count; none where PHP was the
    limit or nothing was, and where it cannot be told: journals of before the generator's CPU was
    kept, the operations of a script."""
    plan, host = gathered.plan, gathered.host
    if plan.metric_of(arm.name) != "throughput" or plan.transport == "script" or host is None:
        return ()
    control = plan.loaded_control or plan.control
    sides: dict[str, tuple[Arm, Slots]] = {
        "control": (control, [(each.control, each.steal_fraction) for each in counted]),
        "treatment": (arm, [(each.treated, each.steal_fraction) for each in counted]),
    }
    found = {name: limit for name, (of, slots) in sides.items() if (limit := _limit(plan, host, of, slots)) is not None}
    if not found:
        return ()
    whose = "" if len(found) == len(sides) else f" of the {next(iter(found))}"
    return (beside_php_words(max(found.values(), key=lambda each: each.shares.helper_cores), whose),)


def _ran_elsewhere(gathered: GatheredRecords, counted: Sequence[Observation]) -> tuple[str, ...]:
    """The warning of a treatment in whose blocks PHP used more CPU than the cores have that it is
    measured on: some of its processes had others, which the other arm had not."""
    cores = len(gathered.host.measured_cores) if gathered.host is not None else 0
    if not cores:
        return ()
    sides = [(seen.control, seen.treated) for seen in counted]
    beyond = sum(any(0 < MOST_OF_CORES * cores * cost.wall_ns < cost.php_cpu_ns for cost in pair) for pair in sides)
    if not beyond:
        return ()
    had = "the one core has" if cores == 1 else f"the {cores} cores have"
    return (
        f"in {beyond} of {len(counted)} blocks PHP used more CPU than {had} that it is measured on: processes of it ran elsewhere, and the "
        "ratio of such a block is not that of the arms; measure again",
    )


def _limit(plan: Plan, host: HostFacts, arm: Arm, slots: Slots) -> Bottleneck | None:
    """What was full beside PHP while one arm was driven."""
    load = _load(plan, host, arm, slots)
    found = find_bottleneck(load) if load is not None else None
    return found if found is not None and found.kind in BESIDE_PHP else None


def _load(plan: Plan, host: HostFacts, arm: Arm, slots: Slots) -> Load | None:
    """The blocks' readings, as a sweep has them of its visits.

    The helpers' cores are as busy as what we know to run there. What was stolen from PHP's cores
    counts as theirs: more was asked of them.
    """
    costs = [cost for cost, _ in slots]
    generator = [cost.generator_ns for cost in costs if cost.generator_ns is not None]
    wall_ns = sum(cost.wall_ns for cost in costs)
    if not wall_ns or len(generator) < len(costs) or not host.measured_cores or not host.helper_cores:
        return None
    arms = [each for panel in plan.panels() for each in (panel.control, *panel.treatments)]
    beside = of_both_kinds(arms) and not set(host.measured_cores) & set(host.helper_cores)
    through_nginx = plan.transport == "http" and not is_apache(arm)

    def on_php(cost: Cost) -> int:
        return max(0, cost.php_cpu_ns) + max(0, cost.web_cpu_ns) * beside

    return Load(
        duration_ns=wall_ns,
        concurrency=plan.loaded_concurrency,
        workers=most_workers(arm),
        php_cores=host.measured_cores,
        helper_cores=host.helper_cores,
        php_ns=sum(map(on_php, costs)),
        generator_ns=sum(generator),
        web_ns=sum(max(0, cost.web_cpu_ns) for cost in costs) if through_nginx and not beside else None,
        database_ns=sum(max(0, cost.database_cpu_ns) for cost in costs) or None,
        services_ns=sum(max(0, ns) for cost in costs for ns in cost.services_cpu_ns.values()) or None,
        php_cores_ns=sum(round(on_php(cost) / max(1e-3, 1.0 - steal)) for cost, steal in slots),
    )
