"""Doubts that the blocks of a comparison give rise to: a PHP that ran elsewhere than where it is
measured, an opcache that compiled on, an app that was not in one state. Pure."""

from collections.abc import Sequence
from statistics import median

from phpdyno.commands.compare.view.costs import valid_requests
from phpdyno.commands.compare.view.gather import GatheredRecords
from phpdyno.experiment.comparison.judging.room import RoomBesidePhp
from phpdyno.experiment.comparison.state import STILL_COMPILING
from phpdyno.model.arm import Arm
from phpdyno.model.observation import Observation
from phpdyno.model.plan import UNIT
from phpdyno.report.words import milliseconds

FIRST = 2
"""Blocks that say what the control cost at the beginning."""
LEAST_TO_MOVE = 4
MOVED = 1.5
"""Between the beginning and the second half: neighbours make less of a difference."""
MOST_OF_CORES = 1.1
"""What PHP does after its last answer counts in the next slot, whose seconds it did not take."""


def doubts_of_blocks(gathered: GatheredRecords, arm: Arm, counted: Sequence[Observation]) -> tuple[str, ...]:
    """The warnings of a treatment that its blocks give rise to, of those that count."""
    return (
        *_beside_php(gathered, arm, counted),
        *_ran_elsewhere(gathered, counted),
        *_compiled(gathered, arm, counted),
        *_moved(gathered, arm, counted),
    )


def _beside_php(gathered: GatheredRecords, arm: Arm, counted: Sequence[Observation]) -> tuple[str, ...]:
    """The warning that a verdict of an earlier version lacks; later ones hold it."""
    said = gathered.verdicts.get(arm.name)
    if said is None or said.overtaken or said.beside_php:
        return ()
    words = RoomBesidePhp(gathered.plan, gathered.host, gathered.calibrations.get("throughput")).words(arm, counted)
    return (words,) if words and words not in said.verdict.warnings else ()


def _moved(gathered: GatheredRecords, arm: Arm, counted: Sequence[Observation]) -> tuple[str, ...]:
    """The warning of a treatment whose control cost something else at the end than at the
    beginning, calibration included: the app was not in one state."""
    plan = gathered.plan
    calibrated = gathered.calibrations.get(plan.metric_of(arm.name))
    # Blocks of a calibration are short: of several targets a dear one may be in none of them.
    before = calibrated.aa if calibrated and len(plan.workload.targets) == 1 else ()
    costs = [each.control for each in (*before, *counted) if not each.excluded]
    each_ms = [cost.php_cpu_ns / valid / 1e6 for cost in costs if (valid := valid_requests(cost)) and cost.php_cpu_ns > 0]
    if len(each_ms) < LEAST_TO_MOVE:
        return ()
    first, last = each_ms[:FIRST], each_ms[len(each_ms) // 2 :]
    if MOVED * max(last) < min(first):
        verb = "fell"
    elif min(last) > MOVED * max(first):
        verb = "rose"
    else:
        return ()
    unit = UNIT[plan.transport]
    return (
        f"the control's CPU per {unit} {verb} from {milliseconds(median(first))} to {milliseconds(median(last))} ms while it was measured "
        "(a cache that fills, data that grow?): figures in ms mix both states; measure again when it no longer changes",
    )


def _compiled(gathered: GatheredRecords, arm: Arm, counted: Sequence[Observation]) -> tuple[str, ...]:
    """The warning of a treatment in whose blocks opcache or the JIT went on compiling."""
    arms = {arm.name, gathered.plan.control_of(arm.name).name}
    blocks = {each.block for each in gathered.incidents if each.kind == STILL_COMPILING and each.arm in arms}
    hit = sum(each.block in blocks for each in counted)
    if not hit:
        return ()
    return (
        f"in {hit} of {len(counted)} blocks opcache or the JIT went on compiling while it was measured: that is paid once on a site and "
        "weighs here; longer blocks (a larger budget) say more",
    )


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
