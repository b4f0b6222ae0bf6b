"""The kinds of line in a journal. The first line is always a `Header`; a reader refuses a schema
newer than its own."""

from msgspec import Struct

from phpdyno.model.answered import AnswerCount
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.inside.explained import Explained
from phpdyno.model.inside.reach import Reached
from phpdyno.model.observation import Observation
from phpdyno.model.plan import Metric, Plan, Unit
from phpdyno.model.verdict import ProofOutcome, Verdict

SCHEMA = 4


class Header(Struct, frozen=True, tag="header"):
    """First line: schema version, who wrote it, which command."""

    schema: int
    phpdyno: str
    command: str
    started: str
    argv: tuple[str, ...]


class Planned(Struct, frozen=True, tag="plan"):
    """The frozen plan."""

    plan: Plan


class Preflight(Struct, frozen=True, tag="preflight"):
    """The host before measuring, with warnings in words."""

    host: HostFacts
    warnings: tuple[str, ...]


class ReachedFor(Struct, frozen=True, tag="reached"):
    """What fresh workers of the control reached for before the first block; None, and why in
    `unwatched`, where that could not be seen.

    `bottle` says why the app does not run in a bottle, '' where it does; `let_through` are the
    peers that it may reach. There is no such line of an app that nobody looks at. `unit` is what
    was watched: an app's requests, or operations of a script from its start on.
    """

    reached: Reached | None
    unwatched: str = ""
    bottle: str = ""
    let_through: tuple[str, ...] = ()
    unit: Unit = "request"


class Answers(Struct, frozen=True, tag="answers"):
    """The equal-answers check of one arm: per target the status, the body's bytes and the share
    that is masked as volatile."""

    arm: str
    equal: bool
    detail: str
    targets: tuple["TargetAnswer", ...] = ()


class TargetAnswer(Struct, frozen=True):
    """What one target answered: status, body length in bytes, fraction of it masked, how it was
    compared ('body' or 'status')."""

    path: str
    status: int
    body_bytes: int
    masked_fraction: float
    compared: str


class AnswersUnderLoad(Struct, frozen=True, tag="answered"):
    """What the arms answered while they were driven, by arm, since the last such line. There is
    none in journals of before bodies were compared under load."""

    block: int
    arms: dict[str, AnswerCount]


class Proved(Struct, frozen=True, tag="facts"):
    """Facts of one arm's worker after warm-up, and the proofs judged on them."""

    arm: str
    facts: WorkerFacts
    proofs: tuple[ProofOutcome, ...]


class AllanPoint(Struct, frozen=True):
    """One slot length of the A/A trace: `deviation` is the Allan deviation of the log cost between
    adjacent slots of one instance.

    `cost_s` is variance x time of a pair of such slots, reading the meters included: what one wants
    small.
    """

    slot_requests: int
    slot_s: float
    deviation: float
    cost_s: float


class Calibrated(Struct, frozen=True, tag="calibration"):
    """What A/A blocks of the control and one round of every arm said, before the first block, and
    the plan that follows from it.

    `request_wall_ns` and `request_cpu_ns` are the control's. `block_s` is the planned measuring
    time of a block, `overhead_s` what starting and warming up adds to it. `sigma_pair` is the
    standard deviation of one pair's log ratio, `sigma_start` that of what an instance draws when it
    starts, `sigma_block` the forecast for a block. `mixture` is the g of the confidence sequence.
    `blocks` fit in the metric's part of the budget; with them an effect of `decidable` (a fraction)
    is found with 90 % power, and one of the margin after `eta_s` seconds of blocks, those of the
    other metric included. `alive` instance sets are started at once. `allan` and `aa` are what
    was measured (`allan` is empty where the slot length was given). In the blocks the generator
    drives on `threads`, and nginx has `nginx_workers` where an arm does not say otherwise: more
    than one where it was seen to be full.
    """

    slot_requests: int
    request_wall_ns: int
    request_cpu_ns: int
    pairs: dict[str, int]
    block_s: float
    overhead_s: float
    note: str
    metric: Metric = "cpu"
    sigma_pair: float = 0.0
    sigma_start: float = 0.0
    sigma_block: float = 0.0
    mixture: float = 0.25
    blocks: int = 0
    decidable: float | None = None
    eta_s: float | None = None
    alive: int = 1
    took_s: float = 0.0
    allan: tuple[AllanPoint, ...] = ()
    aa: tuple[Observation, ...] = ()
    threads: int = 1
    nginx_workers: int = 1


class CarriedOver(Struct, frozen=True, tag="carry-over"):
    """One treatment's effect in one block at another slot length, on the block's own instances:
    what switching between arms costs."""

    block: int
    treatment: str
    slot_requests: int
    log_ratio: float
    pairs: int


class BlockBegun(Struct, frozen=True, tag="begun"):
    """A block on which these treatments were started; what became of it, or that nothing did, is
    said by later lines. There is none in older journals."""

    block: int
    treatments: tuple[str, ...]


class BlockDone(Struct, frozen=True, tag="block"):
    """One finished block: its observations and where its samples lie (relative to the run)."""

    block: int
    started_s: float
    ended_s: float
    observations: tuple[Observation, ...]
    samples: str


REMARK = "what the targets answer together"
"""The kind of an incident: all of them answer one page."""
IN_A_PAGE = "PHP complains in a page"
"""The kind of an incident: a message of PHP stands in an answer."""


class Incident(Struct, frozen=True, tag="incident"):
    """Something that happened to an arm or to the run and is not a number: a crash, an invalid arm,
    a lost block, a resume."""

    block: int
    arm: str
    kind: str
    detail: str


class Concluded(Struct, frozen=True, tag="verdict"):
    """A treatment's verdict. `beside_php`: whether what ran beside PHP was looked at for its
    warnings; earlier versions did that in the report."""

    verdict: Verdict
    beside_php: bool = False


class ExplainedArms(Struct, frozen=True, tag="explained"):
    """Where a request's time goes in a treatment beside its control, looked at after everything was
    measured; None, and why in `unexplained`, where that could not be done. There is no such line of
    a run that was not asked for it."""

    treatment: str
    found: Explained | None
    unexplained: str = ""


class Spent(Struct, frozen=True, tag="spent"):
    """How much of the budget a session had used up when it ended; a resumed one goes on from
    there."""

    spent_s: float


class Ended(Struct, frozen=True, tag="end"):
    """Last line of a session: `finished`, `interrupted` or `failed` with the reason."""

    outcome: str
    detail: str
    elapsed_s: float


Record = (
    Header
    | Planned
    | Preflight
    | ReachedFor
    | Answers
    | AnswersUnderLoad
    | Proved
    | Calibrated
    | CarriedOver
    | BlockBegun
    | BlockDone
    | Incident
    | Concluded
    | ExplainedArms
    | Spent
    | Ended
)
