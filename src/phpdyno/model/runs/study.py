"""A study: arms made of factors, which comparisons, sweeps and syscall passes they go through, and
what somebody else found."""

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from phpdyno.model.plan import Metric, Settle

Side = Literal["smaller", "larger", "alike"]
"""Where our interval lies beside the reference's ratio: all of it below, all of it above, or around
it."""


class StudyLoad(Struct, frozen=True):
    """The fixed load of a study: workers of a static pool, and requests in flight."""

    workers: int
    concurrency: int


class StudyArm(Struct, frozen=True):
    """One arm with everything that it inherited: its level of every factor, and all its settings by
    full knob name."""

    name: str
    levels: dict[str, str]
    settings: dict[str, str]


class StudyComparison(Struct, frozen=True):
    """Treatments against one control on one app by one metric; names of arms and of an app.

    Throughput is measured under the study's load; CPU per request with one worker and one request
    in flight. `settle` says until when, as in a `Plan`; `slot_reason` why a throughput slot may be
    shorter than 20 requests for each in flight.
    """

    name: str
    app: str
    metric: Metric
    control: str
    treatments: tuple[str, ...]
    budget_s: float
    margin: float
    slot_requests: int | None = None
    slot_reason: str = ""
    settle: Settle = "relevance"


class StudyPass(Struct, frozen=True):
    """Counting the syscalls of some arms of one app over a number of requests; nothing is timed."""

    name: str
    app: str
    arms: tuple[str, ...]
    requests: int


class StudySweep(Struct, frozen=True):
    """A sweep of several arms of one app over requests in flight, with an open-loop point where
    `open_share` is above 0."""

    name: str
    app: str
    arms: tuple[str, ...]
    concurrency: tuple[int, ...]
    budget_s: float
    open_share: float = 0.0


class Contrast(Struct, frozen=True):
    """Two arms whose ratio the reference gives as well: how many times better `arm` is than
    `against`."""

    title: str
    arm: str
    against: str


class ReferenceSweep(Struct, frozen=True):
    """Somebody else's throughput over requests in flight, on one machine."""

    machine: Annotated[str, Meta(description="The machine.")]
    per_s: Annotated[dict[str, dict[str, float]], Meta(description="Requests per second by arm, and then by requests in flight (as text).")]


class Reference(Struct, frozen=True):
    """Somebody else's figures, as data."""

    source: Annotated[str, Meta(description="Whose figures they are.")]
    setup: Annotated[dict[str, str], Meta(description="The set-up in words.")] = field(default_factory=dict)
    throughput_per_s: Annotated[dict[str, float], Meta(description="Requests per second by arm.")] = field(default_factory=dict)
    host_busy: Annotated[dict[str, float], Meta(description="Share of the host's CPU that was busy by arm, 0 to 1.")] = field(
        default_factory=dict
    )
    remarks: Annotated[dict[str, str], Meta(description="Remarks by arm.")] = field(default_factory=dict)
    syscall_requests: Annotated[int, Meta(description="Requests that the calls were counted over.")] = 0
    syscalls: Annotated[dict[str, dict[str, int]], Meta(description="Calls by arm and syscall, over `syscall_requests` requests.")] = field(
        default_factory=dict
    )
    sweeps: Annotated[tuple[ReferenceSweep, ...], Meta(description="Throughput over requests in flight, machine by machine.")] = ()


class Note(Struct, frozen=True):
    """A remark on the page, shown when its conditions hold: where our interval of a contrast lies,
    on one app or on every one measured."""

    text: str
    app: str = ""
    contrast: str = ""
    ours: Side | None = None


class StudyBuild(Struct, frozen=True):
    """A build that arms of a study run as `build=NAME`: a recipe, and the apps that it is trained
    on, by their names in the study; one that stands `alone` has its extensions compiled in."""

    name: str
    recipe: str
    train: tuple[str, ...]
    alone: bool = False


class Study(Struct, frozen=True):
    """A whole study. `builds` are made before anything is measured. `apps` maps its names of apps
    to what opens them (built-in name or absolute path of an app.toml)."""

    name: str
    title: str
    about: str
    seed: int
    confidence: float
    apps: dict[str, str]
    load: StudyLoad
    factors: dict[str, tuple[str, ...]]
    arms: tuple[StudyArm, ...]
    comparisons: tuple[StudyComparison, ...]
    passes: tuple[StudyPass, ...]
    contrasts: tuple[Contrast, ...]
    reference: Reference | None
    notes: tuple[Note, ...]
    sweeps: tuple[StudySweep, ...] = ()
    builds: tuple[StudyBuild, ...] = ()

    @property
    def parts(self) -> tuple[StudyComparison | StudySweep | StudyPass, ...]:
        """All of it, in the order in which it is measured."""
        return (*self.comparisons, *self.sweeps, *self.passes)

    @property
    def timed(self) -> tuple[StudyComparison | StudySweep, ...]:
        """The parts with a budget."""
        return (*self.comparisons, *self.sweeps)

    def budget_of(self, names: Collection[str]) -> float:
        """Seconds of those comparisons and sweeps together."""
        return sum(each.budget_s for each in self.timed if each.name in names)

    def arm(self, name: str) -> StudyArm:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    def control_spec(self, comparison: StudyComparison) -> str:
        """The SPEC of a comparison's control; for throughput with the load's workers in a static
        pool."""
        pool = {"pool.pm": "static", "pool.pm.max_children": str(self.load.workers)} if comparison.metric == "throughput" else {}
        return spec_of({**pool, **self.arm(comparison.control).settings})

    def treatment_spec(self, comparison: StudyComparison, name: str) -> str:
        """The SPEC of a treatment, which is also its name in the comparison's journal: only what
        differs from the control."""
        control = self.arm(comparison.control).settings
        return spec_of({key: value for key, value in self.arm(name).settings.items() if control.get(key) != value})


def spec_of(settings: Mapping[str, str]) -> str:
    """Settings as a SPEC."""
    return ";".join(f"{key}={value}" for key, value in settings.items())


class SyscallCount(Struct, frozen=True):
    """How often one syscall was made, and how many of those calls failed."""

    name: str
    calls: int
    errors: int


class SyscallCounts(Struct, frozen=True):
    """What one arm's php-fpm asked of the kernel while it answered `requests` requests, one at a
    time, after warm-up.

    `app_version` is the version of the app that answered.
    """

    app: str
    arm: str
    requests: int
    processes: int
    syscalls: tuple[SyscallCount, ...]
    app_version: str = ""
