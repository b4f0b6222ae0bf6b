"""A synthetic study with journals: plausible numbers that nobody measured."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.config.study.file import load_study
from phpdyno.journal.records import BlockDone, Ended, Record
from phpdyno.journal.study import STUDY_SCHEMA, PartState, StudyPart, StudyRecord
from phpdyno.model.plan import Metric, Plan
from phpdyno.model.runs.study import Study, StudyComparison, SyscallCount, SyscallCounts
from tests.support.made_up.journals import arm, blocks, conclusion, opening, plan, tuned
from tests.support.made_up.protocol import calibrated, loaded_blocks

TOML = """\
name = "small"
title = "A small | study <b>of</b> sockets"
about = "Whether it matters."
seed = 5
[apps]
shop = "hello"
blog = "wordpress"
[load]
workers = 100
concurrency = 100
[factor.opcache]
on = "ini.opcache.enable=1"
off = "ini.opcache.enable=0"
[factor.socket]
unix = "web.socket=unix"
tcp = "web.socket=tcp"
[[arm]]
name = "control"
levels = { opcache = "on", socket = "unix" }
[[arm]]
name = "tcp"
based_on = "control"
levels = { socket = "tcp" }
[[arm]]
name = "no opcache"
based_on = "control"
levels = { opcache = "off" }
[[arm]]
name = "no opcache, tcp"
based_on = "no opcache"
levels = { socket = "tcp" }
[[comparison]]
name = "shop-throughput"
app = "shop"
metric = "throughput"
control = "control"
budget_s = 300
slot_requests = 400
slot_reason = "a longer one would take a minute"
[[comparison]]
name = "shop-cpu"
app = "shop"
metric = "cpu"
control = "control"
treatments = ["no opcache"]
budget_s = 60
settle = "never"
[[comparison]]
name = "blog-cpu"
app = "blog"
metric = "cpu"
control = "control"
treatments = ["no opcache"]
budget_s = 240
[[syscalls]]
app = "shop"
arms = ["no opcache", "control"]
requests = 500
[[syscalls]]
app = "blog"
arms = ["control"]
requests = 100
[[contrast]]
title = "opcache on against off"
arm = "control"
against = "no opcache"
[[contrast]]
title = "unix against TCP (opcache off)"
arm = "no opcache"
against = "no opcache, tcp"
[reference]
source = "somebody"
setup = { processor = "another one", PHP = "7.0.12", disk = "spinning" }
throughput_per_s = { control = 5480, "no opcache" = 520, tcp = 900 }
host_busy = { control = 0.99 }
remarks = { tcp = "time-outs" }
syscall_requests = 1000
[reference.syscalls."no opcache"]
open = 58059
lstat = 11010
fstat = 174053
[[note]]
text = "Always said."
[[note]]
text = "Ours is smaller."
contrast = "opcache on against off"
ours = "smaller"
[[note]]
text = "Ours is larger."
contrast = "opcache on against off"
ours = "larger"
"""

NO_OPCACHE = "ini.opcache.enable=0"
TCP = "web.socket=tcp"
BOTH = "ini.opcache.enable=0;web.socket=tcp"


def small_study(folder: Path) -> Study:
    """The study of the text above."""
    path = folder / "small.toml"
    path.write_text(TOML)
    return load_study(path)


def record_of(study: Study, states: dict[str, PartState] | None = None, counts: tuple[SyscallCounts, ...] = ()) -> StudyRecord:
    """A record whose parts are done unless `states` says otherwise."""
    said = states or {}
    comparisons = [StudyPart(each.name, "comparison", said.get(each.name, "done")) for each in study.comparisons]
    passes = [StudyPart(each.name, "syscalls", said.get(each.name, "done")) for each in study.passes]
    parts = tuple(structs.replace(part, detail="the reason" if part.state not in {"done", "open"} else "") for part in comparisons + passes)
    argv = ("phpdyno", "study", "studies/small.toml")
    return StudyRecord(STUDY_SCHEMA, "0.1.0", "2026-01-02T03:04:05+0000", argv, study, 1.0, parts, counts)


def counts() -> tuple[SyscallCounts, ...]:
    """Counts of the shop, with and without opcache."""
    off = (SyscallCount("openat", 29_000, 0), SyscallCount("newfstatat", 60_000, 50), SyscallCount("read", 14_000, 0))
    on = (SyscallCount("read", 7_000, 0), SyscallCount("newfstatat", 2_600, 0), SyscallCount("brk", 2, 0))
    return (SyscallCounts("shop", "no opcache", 500, 2, off), SyscallCounts("shop", "control", 500, 2, on))


def loaded_journal(number: int = 14) -> list[Record]:
    """`number` blocks by throughput: opcache off costs ten times, TCP a little with failures, both
    together is invalid."""
    made = _plan("throughput", NO_OPCACHE, TCP, BOTH)
    done = loaded_blocks({NO_OPCACHE: 0.1, TCP: 0.9}, number, failing={TCP: 12})
    return _journal(made, done, "throughput", slot=400)


def cpu_journal(number: int = 12) -> list[Record]:
    """A comparison by CPU with `number` blocks: opcache off costs five times."""
    made = _plan("cpu", NO_OPCACHE)
    return _journal(made, blocks({NO_OPCACHE: 0.2}, number), "cpu", slot=1)


def journals_of(study: Study) -> dict[str, list[Record]]:
    """Journals of the first two comparisons; the third never began."""
    names = [each.name for each in study.comparisons]
    return {names[0]: loaded_journal(), names[1]: cpu_journal(3)}


def treatment_names(study: Study, comparison: StudyComparison) -> list[str]:
    """What the journal of a comparison calls its treatments."""
    return [study.treatment_spec(comparison, name) for name in comparison.treatments]


def _plan(metric: Metric, *specs: str) -> Plan:
    made = plan(*(tuned(spec) for spec in specs))
    loaded = arm("control, loaded") if metric == "throughput" else None
    metrics = dict.fromkeys(specs, metric)
    return structs.replace(made, metric=metric, metrics=metrics, loaded_control=loaded, loaded_concurrency=100, slot_requests=400)


def _journal(made: Plan, done: Sequence[BlockDone], metric: Metric, *, slot: int) -> list[Record]:
    measured = {each.treatment for block in done for each in block.observations}
    opened = opening(made)[:-1]
    verdicts = [conclusion(made, list(done), each, mixture=0.5) for each in made.treatments if each.name in measured and len(done) > 5]
    return [*opened, calibrated(made, metric, slot=slot), *done, *verdicts, Ended("finished", "", 200.0)]
