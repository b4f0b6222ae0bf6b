"""A study file: factors, arms, comparisons, sweeps, syscall passes, and the reference's figures.
Data only."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from phpdyno.config.nearest import suggestion
from phpdyno.config.recipe import parse_recipe
from phpdyno.config.study.arms import RawArm, complete_arms
from phpdyno.config.study.sweeps import RawReferenceSweep, RawSweep, complete_reference, complete_sweep
from phpdyno.config.study.values import Count, Name, Positive
from phpdyno.config.toml_faults import toml_fault
from phpdyno.config.values import absolute, read_toml
from phpdyno.errors import UsageError
from phpdyno.model.plan import REQUESTS_PER_FLIGHT, Metric, Settle
from phpdyno.model.runs.ladder import STOCK
from phpdyno.model.runs.study import (
    Contrast,
    Note,
    Reference,
    Side,
    Study,
    StudyArm,
    StudyBuild,
    StudyComparison,
    StudyLoad,
    StudyPass,
    StudySweep,
)

MARGINS: dict[Metric, float] = {"cpu": 0.01, "throughput": 0.05}
_EXAMPLES = {
    "name": 'add name = "opcache", fit for a directory',
    "title": 'add title = "..."',
    "apps": 'add [apps] and NAME = "hello" (a built-in app, or the path of an app.toml)',
    "load": "add [load] with workers and concurrency",
    "arm": 'add [[arm]] with name = "control"',
    "comparison": "add [[comparison]] with name, app, metric, control and budget_s, or a [[sweep]]",
    "budget_s": "add budget_s = 300, the seconds that this part may take",
    "open_share": "use a share of the throughput at which closed loops saturate, such as 0.7",
    "metric": 'use "cpu" or "throughput"',
    "ours": 'use "smaller", "larger" or "alike"',
    "seed": "use a whole number from 0 on",
}


class _Load(Struct, frozen=True, forbid_unknown_fields=True):
    workers: Count
    concurrency: Count


class _Comparison(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    app: str
    metric: Metric
    control: str
    budget_s: Positive
    treatments: tuple[str, ...] | None = None
    margin: Annotated[float, Meta(ge=0, le=1)] | None = None
    slot_requests: Count | None = None
    slot_reason: str = ""
    settle: Settle = "relevance"


class _Build(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    recipe: str
    train: Annotated[tuple[str, ...], Meta(min_length=1)]
    standalone: bool = False


class _Pass(Struct, frozen=True, forbid_unknown_fields=True):
    app: str
    arms: Annotated[tuple[str, ...], Meta(min_length=1)]
    requests: Count
    name: Name | None = None


class _Contrast(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    arm: str
    against: str


class _Reference(Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    setup: dict[str, str] = field(default_factory=dict)
    throughput_per_s: dict[str, Positive] = field(default_factory=dict)
    host_busy: dict[str, Positive] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    syscall_requests: Annotated[int, Meta(ge=0)] = 0
    syscalls: dict[str, dict[str, Annotated[int, Meta(ge=0)]]] = field(default_factory=dict)
    sweep: tuple[RawReferenceSweep, ...] = ()


class _Note(Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    app: str = ""
    contrast: str = ""
    ours: Side | None = None


class _Raw(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    title: str
    apps: dict[Name, str]
    arm: tuple[RawArm, ...]
    load: _Load | None = None
    comparison: tuple[_Comparison, ...] = ()
    sweep: tuple[RawSweep, ...] = ()
    about: str = ""
    seed: Annotated[int, Meta(ge=0)] = 1
    confidence: Annotated[float, Meta(ge=0.5, le=0.9999)] = 0.95
    factor: dict[str, dict[str, str]] = field(default_factory=dict)
    syscalls: tuple[_Pass, ...] = ()
    contrast: tuple[_Contrast, ...] = ()
    reference: _Reference | None = None
    note: tuple[_Note, ...] = ()
    build: tuple[_Build, ...] = ()


_KEYS = {
    "": _Raw.__struct_fields__,
    "load": _Load.__struct_fields__,
    "arm": RawArm.__struct_fields__,
    "comparison": _Comparison.__struct_fields__,
    "sweep": RawSweep.__struct_fields__,
    "syscalls": _Pass.__struct_fields__,
    "contrast": _Contrast.__struct_fields__,
    "reference": _Reference.__struct_fields__,
    "reference.sweep": RawReferenceSweep.__struct_fields__,
    "note": _Note.__struct_fields__,
    "build": _Build.__struct_fields__,
}


def load_study(path: Path) -> Study:
    """Read and check a study file. Raises UsageError naming the file and the key, with the nearest
    valid name for an unknown one."""
    path = path.absolute()
    table = read_toml(path)
    if not table:
        raise UsageError("the file is empty", where=str(path), next_step="docs/reference/study.md says what a study holds")
    try:
        raw = msgspec.convert(table, _Raw)
    except msgspec.ValidationError as error:
        raise toml_fault(error, path, keys=_KEYS, hints=_EXAMPLES) from error
    return _Reader(path, raw).study()


class _Reader:
    """Cross-checks of one file: every name that is used must exist."""

    def __init__(self, path: Path, raw: _Raw) -> None:
        self.path = path
        self.raw = raw
        self.arms: dict[str, StudyArm] = {}

    def study(self) -> Study:
        raw = self.raw
        for key, held in (("apps", raw.apps), ("arm", raw.arm), ("comparison", raw.comparison or raw.sweep)):
            if not held:
                self.refuse(key, "there is none", _EXAMPLES[key])
        if raw.load is None and any(each.metric == "throughput" for each in raw.comparison):
            self.refuse("load", "is missing, and a comparison by throughput needs it", _EXAMPLES["load"])
        self.arms = complete_arms(self.path, raw.factor, raw.arm)
        comparisons = tuple(self.comparison(number, each) for number, each in enumerate(raw.comparison))
        sweeps = tuple(self.sweep(number, each) for number, each in enumerate(raw.sweep))
        passes = tuple(self.syscall_pass(number, each) for number, each in enumerate(raw.syscalls))
        self.unique_parts([*(each.name for each in comparisons), *(each.name for each in sweeps), *(each.name for each in passes)])
        return Study(
            name=raw.name,
            title=raw.title,
            about=raw.about,
            seed=raw.seed,
            confidence=raw.confidence,
            apps={name: self.app_reference(name, reference) for name, reference in raw.apps.items()},
            load=self.load(),
            factors={name: tuple(levels) for name, levels in raw.factor.items()},
            arms=tuple(self.arms.values()),
            comparisons=comparisons,
            passes=passes,
            contrasts=tuple(self.contrast(number, each) for number, each in enumerate(raw.contrast)),
            reference=self.reference(sweeps),
            notes=tuple(self.note(number, each) for number, each in enumerate(raw.note)),
            sweeps=sweeps,
            builds=self.builds(),
        )

    def builds(self) -> tuple[StudyBuild, ...]:
        """The builds, and that every arm which names one names one of these, or the PHP that they
        stand beside."""
        names = [each.name for each in self.raw.build]
        for number, each in enumerate(self.raw.build):
            key = f"build[{number}]"
            if each.name == STOCK or each.name in names[:number]:
                self.refuse(f"{key}.name", f"{each.name!r} is taken", "give it another name")
            for position, app in enumerate(each.train):
                self.known_app(app, f"{key}.train[{position}]")
            parse_recipe(each.recipe, where=f"{self.path}: {key}.recipe")
        for number, arm in enumerate(self.arms.values()):
            named = arm.settings.get("build")
            if names and named is not None and named not in {*names, STOCK}:
                self.refuse(f"arm[{number}]", f"there is no build {named!r}", suggestion(named, [*names, STOCK]))
        return tuple(StudyBuild(each.name, each.recipe, each.train, each.standalone) for each in self.raw.build)

    def refuse(self, key: str, what: str, next_step: str = "") -> None:
        raise UsageError(what, where=f"{self.path}: {key}", next_step=next_step)

    def known_arm(self, name: str, key: str) -> None:
        if name not in self.arms:
            self.refuse(key, f"there is no arm {name!r}", suggestion(name, self.arms))

    def known_app(self, name: str, key: str) -> None:
        if name not in self.raw.apps:
            self.refuse(key, f"[apps] names no {name!r}", suggestion(name, self.raw.apps))

    def app_reference(self, name: str, reference: str) -> str:
        """A path is relative to the study file; anything else is a built-in name, looked up when
        the study starts."""
        if not reference:
            self.refuse(f"apps.{name}", "names nothing", "give a built-in app or the path of an app.toml")
        is_path = "/" in reference or reference.endswith(".toml")
        return str(absolute(self.path.parent, reference, where=f"{self.path}: apps.{name}")) if is_path else reference

    def comparison(self, number: int, raw: _Comparison) -> StudyComparison:
        key = f"comparison[{number}]"
        self.known_app(raw.app, f"{key}.app")
        self.known_arm(raw.control, f"{key}.control")
        treatments = tuple(name for name in self.arms if name != raw.control) if raw.treatments is None else raw.treatments
        if not treatments:
            self.refuse(f"{key}.treatments", "there is nothing to compare with the control")
        for position, name in enumerate(treatments):
            self.treatment(f"{key}.treatments[{position}]", name, raw.control, treatments[:position])
        self.slot(key, raw)
        return StudyComparison(
            name=raw.name,
            app=raw.app,
            metric=raw.metric,
            control=raw.control,
            treatments=treatments,
            budget_s=raw.budget_s,
            margin=MARGINS[raw.metric] if raw.margin is None else raw.margin,
            slot_requests=raw.slot_requests,
            slot_reason=raw.slot_reason,
            settle=raw.settle,
        )

    def treatment(self, key: str, name: str, control: str, before: tuple[str, ...]) -> None:
        self.known_arm(name, key)
        if name == control:
            self.refuse(key, f"{name!r} is the control itself")
        if name in before:
            self.refuse(key, f"{name!r} is listed twice")
        ours, theirs = self.arms[name].settings, self.arms[control].settings
        dropped = sorted(theirs.keys() - ours.keys())
        if dropped:
            self.refuse(key, f"{name!r} does not say what {dropped[0]} is, which {control!r} sets", "let the arm set it as well")

    def slot(self, key: str, raw: _Comparison) -> None:
        flight = self.load().concurrency if raw.metric == "throughput" else 1
        if raw.slot_requests is None:
            return
        if raw.slot_requests < flight:
            self.refuse(f"{key}.slot_requests", f"a slot of {raw.slot_requests} cannot hold {flight} requests in flight")
        if raw.metric == "throughput" and raw.slot_requests < REQUESTS_PER_FLIGHT * flight and not raw.slot_reason:
            what = f"{raw.slot_requests} is below {REQUESTS_PER_FLIGHT} requests for each of {flight} in flight"
            self.refuse(f"{key}.slot_requests", what, "say in slot_reason why that is good enough; the page prints it")

    def load(self) -> StudyLoad:
        """One worker and one request in flight where nothing is measured under a fixed load."""
        raw = self.raw.load
        return StudyLoad(1, 1) if raw is None else StudyLoad(raw.workers, raw.concurrency)

    def sweep(self, number: int, raw: RawSweep) -> StudySweep:
        key = f"sweep[{number}]"
        self.known_app(raw.app, f"{key}.app")
        return complete_sweep(key, raw, self.arms, self.refuse)

    def syscall_pass(self, number: int, raw: _Pass) -> StudyPass:
        key = f"syscalls[{number}]"
        self.known_app(raw.app, f"{key}.app")
        for position, name in enumerate(raw.arms):
            self.known_arm(name, f"{key}.arms[{position}]")
            if name in raw.arms[:position]:
                self.refuse(f"{key}.arms[{position}]", f"{name!r} is listed twice")
        return StudyPass(raw.name or f"{raw.app}-syscalls", raw.app, raw.arms, raw.requests)

    def unique_parts(self, names: list[str]) -> None:
        for position, name in enumerate(names):
            if name in names[:position]:
                self.refuse("comparison", f"two parts are called {name!r}", "give each a name of its own")

    def contrast(self, number: int, raw: _Contrast) -> Contrast:
        for side in ("arm", "against"):
            self.known_arm(getattr(raw, side), f"contrast[{number}].{side}")
        return Contrast(raw.title, raw.arm, raw.against)

    def reference(self, sweeps: tuple[StudySweep, ...]) -> Reference | None:
        raw = self.raw.reference
        if raw is None:
            return None
        tables: dict[str, Mapping[str, object]] = {
            "throughput_per_s": raw.throughput_per_s,
            "host_busy": raw.host_busy,
            "remarks": raw.remarks,
            "syscalls": raw.syscalls,
        }
        for table, entries in tables.items():
            for name in entries:
                self.known_arm(name, f"reference.{table}.{name}")
        if raw.syscalls and not raw.syscall_requests:
            self.refuse("reference.syscall_requests", "is missing, so the calls cannot be given per request", "add syscall_requests = 1000")
        figures = tuple(
            complete_reference(f"reference.sweep[{number}]", each, self.arms, sweeps, self.refuse) for number, each in enumerate(raw.sweep)
        )
        held = {name: value for name, value in msgspec.structs.asdict(raw).items() if name != "sweep"}
        return Reference(**held, sweeps=figures)

    def note(self, number: int, raw: _Note) -> Note:
        key = f"note[{number}]"
        if raw.app:
            self.known_app(raw.app, f"{key}.app")
        titles = [each.title for each in self.raw.contrast]
        if raw.contrast and raw.contrast not in titles:
            self.refuse(f"{key}.contrast", f"there is no contrast {raw.contrast!r}", suggestion(raw.contrast, titles))
        if bool(raw.contrast) != (raw.ours is not None):
            self.refuse(key, "contrast and ours belong together", "give both or neither")
        return Note(raw.text, raw.app, raw.contrast, raw.ours)
