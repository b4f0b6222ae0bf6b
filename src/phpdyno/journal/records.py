"""The kinds of line in a journal. The first line is always a `Header`; a reader refuses a schema newer than its own."""

from msgspec import Struct

from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.observation import Observation
from phpdyno.model.plan import Plan
from phpdyno.model.verdict import ProofOutcome, Verdict

SCHEMA = 1


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


class Answers(Struct, frozen=True, tag="answers"):
    """The equal-answers check of one arm: per target the status, the body's bytes and the share that is masked as volatile."""

    arm: str
    equal: bool
    detail: str
    targets: tuple["TargetAnswer", ...] = ()


class TargetAnswer(Struct, frozen=True):
    """What one target answered: status, body length in bytes, fraction of it masked, how it was compared ('body' or 'status')."""

    path: str
    status: int
    body_bytes: int
    masked_fraction: float
    compared: str


class Proved(Struct, frozen=True, tag="facts"):
    """Facts of one arm's worker after warm-up, and the proofs judged on them."""

    arm: str
    facts: WorkerFacts
    proofs: tuple[ProofOutcome, ...]


class Calibrated(Struct, frozen=True, tag="calibration"):
    """Slot length and pairs per treatment and block, chosen from the arms' own cost in the warm-up, before the first block.

    `request_wall_ns` and `request_cpu_ns` are the control's. `block_s` is the planned measuring time of a block, `overhead_s` what
    starting and warming up adds to it.
    """

    slot_requests: int
    request_wall_ns: int
    request_cpu_ns: int
    pairs: dict[str, int]
    block_s: float
    overhead_s: float
    note: str


class BlockDone(Struct, frozen=True, tag="block"):
    """One finished block: its observations and where its samples lie (relative to the run)."""

    block: int
    started_s: float
    ended_s: float
    observations: tuple[Observation, ...]
    samples: str


class Incident(Struct, frozen=True, tag="incident"):
    """Something that happened to an arm or to the run and is not a number: a crash, an invalid arm, a lost block, a resume."""

    block: int
    arm: str
    kind: str
    detail: str


class Concluded(Struct, frozen=True, tag="verdict"):
    """A treatment's verdict."""

    verdict: Verdict


class Ended(Struct, frozen=True, tag="end"):
    """Last line of a session: `finished`, `interrupted` or `failed` with the reason."""

    outcome: str
    detail: str
    elapsed_s: float


Record = Header | Planned | Preflight | Answers | Proved | Calibrated | BlockDone | Incident | Concluded | Ended
