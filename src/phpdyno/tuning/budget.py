"""What a budget buys: how long each stage of a tune may take, and which effects it will be able to
decide. Said before starting."""

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, structs

from phpdyno.errors import BudgetTooSmall, UsageError
from phpdyno.model.runs.tune import StageName, StageTime
from phpdyno.stats.comparison.allocation import Allocation, Shape, allocate
from phpdyno.stats.comparison.judge import margin_log
from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.screening.factorial import Design, designs
from phpdyno.stats.screening.power import resolvable
from phpdyno.stats.screening.racing import pair_alpha

STAGES: tuple[StageName, ...] = ("screen", "race", "numeric", "confirm", "ablate", "again", "throughput")
SHARES: Mapping[StageName, float] = {
    "screen": 0.31,
    "race": 0.09,
    "numeric": 0.07,
    "confirm": 0.19,
    "ablate": 0.13,
    "again": 0.10,
    "throughput": 0.12,
}
"""Of the time that is left after the calibration. A stage that is not needed leaves its share to
the others."""

LEAST_S: Mapping[StageName, float] = {"numeric": 40.0, "throughput": 85.0}
"""In less no value is better than chance, and no interval of throughput finite."""
LEAST_BLOCKS = 2
"""Of a screening: from one block alone no interval can be made."""
LEAST_PAIRS, MOST_BLOCK_S = 4, 12.0
RACERS = (6, 4, 3, 2)
"""How many may race: as many as the time can tell apart by twice what is useful."""
LEAST_FACTORS = 3
"""A tune of fewer of many is none."""
ABLATED = 4
"""How many parts a winner may have for the plan's promise: the typical one, more take longer."""
USEFUL = 0.06
"""A confirmation that cannot see this effect (6 %) is not worth its time: most combinations bring
less than 10 %."""
USEFUL_ALONE = 0.08
"""The same of a screening: it decides nothing for good, and what stays open may still race."""
NEARLY = 1.1
LARGEST_LOG = 700.0
SMALLEST_EFFECT = 1e-3
"""That blocks are planned for where the margin is 0: nothing would ever be enough."""
SPARE = 0.95
"""Part of the budget that is planned: blocks end when they end."""
MOST_BUDGET_S = 7 * 86_400.0
ROUNDED_S = 30.0


class Costs(Struct, frozen=True):
    """What the calibration says of the host: noise, and seconds of a pair, of bringing one more
    instance up and warming it, and of a block besides. `most_arms` can be up at once beside the
    control (memory). `opening` is how many pairs' time goes before those of an arm that is not
    alone (`schedule.OPENING`)."""

    noise: Noise
    pair_s: float
    start_s: float
    block_s: float
    most_arms: int
    opening: float = 0.0

    def pairs_s(self, pairs: int, arms: int) -> float:
        """Seconds that so many pairs of one of these arms take."""
        return (pairs + (self.opening if arms > 1 else 0.0)) * self.pair_s


class ScreenPlan(Struct, frozen=True):
    """The design, how many blocks of how many pairs each row gets, and the smallest effect of a
    factor (fraction) that this decides."""

    design: Design
    blocks: int
    pairs: int
    took_s: float
    decidable: float


class StagePlan(Struct, frozen=True):
    """Seconds of a stage and the smallest difference (fraction) that it decides with 90 % power;
    None: none, or by another rule."""

    name: StageName
    seconds: float
    decidable: float | None


class BudgetPlan(Struct, frozen=True):
    """The whole tune, stage by stage, with one sentence for the user; `wanted` is what there is
    time for."""

    budget_s: float
    wanted: "BudgetRequest"
    stages: tuple[StagePlan, ...]
    screen: ScreenPlan
    sentence: str

    def seconds(self, name: StageName) -> float:
        """What a stage may take; 0 for one that is left out."""
        return sum(each.seconds for each in self.stages if each.name == name)


class BudgetRequest(Struct, frozen=True):
    """What is to be tuned: the number of levels of each factor, the most promising first, whether
    there are numeric values to choose and throughput knobs to decide, the relevance margin
    (fraction), and the error probability of each stage."""

    factors: tuple[int, ...]
    margin: float = 0.01
    alpha: float = 0.05
    numeric: bool = False
    throughput: bool = False


def plan_budget(budget_s: float, wanted: BudgetRequest, costs: Costs) -> BudgetPlan:
    """How the budget (what is left of it after the calibration) is used: for all that is wanted, or
    as much of it as there is time for.

    Raises BudgetTooSmall, which names a budget that is enough, when for the least of it
    (`narrower`) the screening could not decide 8 %, or winner and control not be told apart by 6 %,
    or twice the margin where that is more; UsageError when no budget up to a week would be enough;
    ValueError for fewer than two arms at once.
    """
    if costs.most_arms < 2:
        raise ValueError("a tune needs two arms at once beside the control")
    scopes = tuple(narrower(wanted))
    # Effects that are not mixed are worth more than the other stages and half of the knobs.
    apart = [less for less in scopes if 2 * len(less.factors) >= len(wanted.factors)]
    for least, those in ((4, apart), (3, scopes)):
        for less in those:
            made = _plan(budget_s, less, costs)
            if made is not None and made.screen.design.resolution >= least:
                return structs.replace(made, sentence=made.sentence + _left_out(wanted, less))
    enough = _enough(budget_s, scopes[-1], costs)
    knobs = _counted(len(wanted.factors), "knob")
    if enough is None:
        raise UsageError(
            f"on this host not even a week decides anything about {knobs}", next_step="give fewer knobs, or look at `phpdyno doctor`"
        )
    raise BudgetTooSmall(f"that decides nothing about {knobs}", budget_s=budget_s, enough_s=enough, instead="fewer knobs")


def narrower(wanted: BudgetRequest) -> Iterator[BudgetRequest]:
    """What is wanted, then ever less of it: fewer values of each factor (the others may still
    race), no time set aside for numbers, none for throughput, ever fewer factors."""
    yield wanted
    less = wanted
    for levels in range(max(wanted.factors) - 1, 0, -1):
        less = structs.replace(less, factors=tuple(min(each, levels) for each in wanted.factors))
        yield less
    if less.numeric:
        less = structs.replace(less, numeric=False)
        yield less
    if less.throughput:
        less = structs.replace(less, throughput=False)
        yield less
    for number in range(len(wanted.factors) - 1, LEAST_FACTORS - 1, -1):
        yield structs.replace(less, factors=less.factors[:number])


def racers(seconds: float, costs: Costs, *, effect: float, alpha: float) -> int:
    """How many arms the race of so many seconds can tell apart by twice the useful effect, together
    with the control, at `alpha` for all of them; two at least."""
    for number in RACERS:
        each = pair_alpha(number, alpha)
        found = plan_blocks(seconds, number, costs, effect=effect, alpha=each, contrast=True).decidable
        if number <= costs.most_arms and found is not None and _fraction(found) <= 2.0 * USEFUL:
            return number
    return RACERS[-1]


def stage_seconds(budget_s: float, wanted: BudgetRequest) -> dict[StageName, float]:
    """The budget by stage, in their order."""
    idle = {name for name, needed in (("numeric", wanted.numeric), ("throughput", wanted.throughput)) if not needed}
    shares = {name: SHARES[name] for name in STAGES if name not in idle}
    whole = math.fsum(shares.values())
    return {name: SPARE * budget_s * share / whole for name, share in shares.items()}


def put_off(times: Sequence[StageTime], stage: StageName, now_s: float) -> tuple[StageTime, ...]:
    """The stages of a budget where one begins at `now_s`: later than planned, it and those that
    follow share what is left in proportion; a stage without a time of its own changes nothing."""
    place = next((number for number, each in enumerate(times) if each.name == stage), None)
    if place is None:
        return tuple(times)
    planned_s, end_s = times[place].until_s - times[place].seconds, times[-1].until_s
    if now_s <= planned_s:
        return tuple(times)
    # After the end nothing is left, and nothing was planned where that was so before.
    factor = max(0.0, end_s - now_s) / (end_s - planned_s) if end_s > planned_s else 0.0
    later, until_s = [], now_s
    for each in times[place:]:
        until_s += factor * each.seconds
        later.append(structs.replace(each, seconds=factor * each.seconds, until_s=until_s))
    return (*times[:place], *later)


def plan_screen(seconds: float, factors: Sequence[int], costs: Costs, alpha: float) -> ScreenPlan | None:
    """The design, pairs and blocks that decide the smallest effect within `seconds`; None when none
    has two blocks.

    Resolution 4 or more is preferred wherever it decides 8 %, since below it a knob's effect cannot
    be told from what two others do together; the highest, where it decides hardly less than the
    best.
    """
    tried = []
    for design in designs(factors):
        pairs = LEAST_PAIRS
        while True:
            block_s = screen_block_s(design, pairs, costs)
            blocks = int(seconds / block_s)
            found = resolvable(design, costs.noise, pairs, blocks, alpha) if blocks >= LEAST_BLOCKS else None
            if found is None:
                break
            tried.append(ScreenPlan(design, blocks, pairs, blocks * block_s, _fraction(found)))
            pairs = max(pairs + 1, round(1.4 * pairs))
    apart = [each for each in tried if each.design.resolution >= 4 and each.decidable <= USEFUL_ALONE]
    least = min((each.decidable for each in apart or tried), default=0.0)
    near = [each for each in apart or tried if each.decidable <= NEARLY * least]
    return min(near, key=lambda each: (-each.design.resolution, each.decidable, len(each.design.rows)), default=None)


def screen_block_s(design: Design, pairs: int, costs: Costs) -> float:
    """Seconds of one block of all rows, in as many batches as are needed, each with a control of
    its own."""
    rows = len(design.rows)
    batches = -(-rows // costs.most_arms)
    return batches * (costs.block_s + costs.start_s) + rows * (costs.start_s + costs.pairs_s(pairs, rows))


def plan_blocks(seconds: float, arms: int, costs: Costs, *, effect: float, alpha: float, contrast: bool) -> Allocation:
    """Blocks of `arms` arms beside a control. `contrast`: arms are compared with each other (log
    ratio `effect`), in which both one's pairs scatter while the control's draw cancels; else with
    the control."""
    noise = Noise(math.sqrt(2.0) * costs.noise.sigma_pair, costs.noise.sigma_start) if contrast else costs.noise
    return allocate(
        noise,
        shape=lambda pairs: Shape(arms * costs.pairs_s(pairs, arms), pairs),
        overhead_s=costs.block_s + (arms + 1) * costs.start_s,
        budget_s=seconds,
        effect=effect,
        alpha=alpha,
        least_pairs=LEAST_PAIRS,
        most_block_s=MOST_BLOCK_S,
    )


# ---- how it is found ----------------------------------------------------------------------------


def _plan(budget_s: float, wanted: BudgetRequest, costs: Costs) -> BudgetPlan | None:
    """None when it decides nothing."""
    seconds = stage_seconds(budget_s, wanted)
    if any(seconds.get(name, least) < least for name, least in LEAST_S.items()):
        return None
    screen = plan_screen(seconds["screen"], wanted.factors, costs, wanted.alpha)
    useful = max(USEFUL, 2.0 * wanted.margin)
    if screen is None or screen.decidable > max(USEFUL_ALONE, useful):
        return None
    effect = margin_log(max(wanted.margin, SMALLEST_EFFECT))
    arms = racers(seconds["race"], costs, effect=effect, alpha=wanted.alpha)
    parts = min(costs.most_arms - 1, ABLATED, len(wanted.factors))
    decided: dict[StageName, float | None] = {"screen": screen.decidable}
    asked: tuple[tuple[StageName, int, float, bool], ...] = (
        ("race", arms, pair_alpha(arms, wanted.alpha), True),
        ("confirm", 1, wanted.alpha, False),
        ("ablate", parts + 1, wanted.alpha / parts, True),
    )
    for name, number, alpha, contrast in asked:
        found = plan_blocks(seconds[name], number, costs, effect=effect, alpha=alpha, contrast=contrast).decidable
        decided[name] = None if found is None else _fraction(found)
    confirmed = decided["confirm"]
    if confirmed is None or confirmed > useful:
        return None
    stages = tuple(StagePlan(name, each, decided.get(name)) for name, each in seconds.items())
    return BudgetPlan(budget_s, wanted, stages, screen, _sentence(wanted, stages, screen))


def _enough(budget_s: float, wanted: BudgetRequest, costs: Costs) -> int | None:
    """A budget that is enough, to the half minute; None beyond a week."""
    low = high = max(ROUNDED_S, budget_s)
    while _plan(high, wanted, costs) is None:
        low, high = high, 2.0 * high
        if high > MOST_BUDGET_S:
            return None
    while high - low > ROUNDED_S:
        middle = (low + high) / 2.0
        low, high = (low, middle) if _plan(middle, wanted, costs) is not None else (middle, high)
    # What is decidable does not always shrink with every second more: blocks are whole. So the
    # rounded figure is looked at as well.
    rounded = ROUNDED_S * math.ceil(high / ROUNDED_S)
    while _plan(rounded, wanted, costs) is None:
        rounded += ROUNDED_S
        if rounded > MOST_BUDGET_S:
            return None
    return int(rounded)


def _sentence(wanted: BudgetRequest, stages: Sequence[StagePlan], screen: ScreenPlan) -> str:
    """What the user is told: `screening 14 settings (6 min; detects effects of 1.8 % or more);
    racing the best ...`."""
    apart = {3: ", where one effect is mixed with those of two others together", 4: "", 5: ", interactions told apart"}
    text = f"screening {_counted(len(wanted.factors), 'setting')} ({_time(screen.took_s)}; "
    text += f"detects effects of {_percent(screen.decidable)} or more{apart[screen.design.resolution]})"
    judging: dict[StageName, str] = {"race": "racing the best", "confirm": "confirming the winner", "ablate": "checking its parts"}
    others: dict[StageName, str] = {"numeric": "tuning numbers", "throughput": "pool and web server"}
    for each in stages:
        if each.name in judging:
            said = "may detect nothing" if each.decidable is None else f"detects {_percent(each.decidable)}"
            text += f"; {judging[each.name]} ({_time(each.seconds)}; {said})"
        elif each.name in others:
            text += f"; {others[each.name]} ({_time(each.seconds)})"
    return text


def _left_out(wanted: BudgetRequest, less: BudgetRequest) -> str:
    """What there is no time for, to be said behind the plan."""
    said = []
    if len(less.factors) < len(wanted.factors):
        said.append(_counted(len(wanted.factors) - len(less.factors), "more setting"))
    if any(one < other for one, other in zip(less.factors, wanted.factors, strict=False)):
        said.append("other values")
    if wanted.numeric and not less.numeric:
        said.append("numeric tuning")
    if wanted.throughput and not less.throughput:
        said.append("pool and web server")
    return f". Skipped for lack of time: {', '.join(said)}" if said else ""


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def _fraction(effect: float) -> float:
    """A log ratio as a fraction; what does not fit a float is told as the largest that does."""
    return math.expm1(min(effect, LARGEST_LOG))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.0f} h"
