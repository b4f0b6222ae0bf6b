"""A syscall pass with fakes for servers and strace: commits are served, and an arm that is not what
it says is no count."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from phpdyno.commands.explain import syscall_pass
from phpdyno.explain.tracing.syscalls import Traced
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.runs.study import Study, StudyArm, StudyComparison, StudyPass, SyscallCount
from phpdyno.servers.instance import ArmFailed
from tests.support.made_up.facts import PLAIN, with_ini

CALLS = (SyscallCount("read", 3, 0),)
COMMIT = "c0ffee" * 6 + "abcd"
CONTROL: dict[str, str] = {"ini.memory_limit": "128M"}


def study(arms: dict[str, dict[str, str]], passed: tuple[str, ...], comparison: tuple[str, str, tuple[str, ...]] | None = None) -> Study:
    comparisons: tuple[StudyComparison, ...] = ()
    if comparison:
        app, control, treatments = comparison
        comparisons = (StudyComparison("c", app, "cpu", control, treatments, 60.0, 0.01),)
    return Study(
        "s",
        "S",
        "",
        1,
        0.95,
        {"shop": "shop"},
        msgspec.UNSET,  # type: ignore[arg-type]
        {},
        tuple(StudyArm(name, {}, settings) for name, settings in arms.items()),
        comparisons,
        (StudyPass("p", "shop", passed, 50),),
        (),
        None,
        (),
    )


class FakeStack:
    """Gives each arm the facts that the test says; remembers what was started and which apps the
    bench was told of."""

    def __init__(self, facts: dict[str, WorkerFacts]) -> None:
        self.facts = facts
        self.started: list[str] = []
        self.asked_env: set[tuple[str, ...]] = set()
        self.apps: dict[str, str] = {}
        self.app = SimpleNamespace(version="v", workload=SimpleNamespace(targets=[SimpleNamespace(weight=1.0)]))

    @contextlib.contextmanager
    def stand(self, *_: object, arms: list[Arm], **__: object) -> Iterator[SimpleNamespace]:
        self.apps = {arm.name: arm.settings["source"] for arm in arms if "source" in arm.settings}
        cores = SimpleNamespace(helpers=())
        bench = SimpleNamespace(app=self.app, transport="http", supervisor=None, running=self.running, cores=cores)
        yield SimpleNamespace(bench=bench, meters=None)

    @contextlib.contextmanager
    def running(self, arms: list[Arm]) -> Iterator[tuple[Arm]]:
        self.started.append(arms[0].name)
        yield (arms[0],)

    def warm_up(self, driven: Any, *_: object, env_names: tuple[str, ...], **__: object) -> SimpleNamespace:
        self.asked_env.add(env_names)
        return SimpleNamespace(facts=self.facts[driven.arm.name])


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def run(wanted: Study, facts: dict[str, WorkerFacts]) -> tuple[Any, FakeStack]:
        stack = FakeStack(facts)
        fakes = {
            "find_strace": lambda: "strace",
            "open_app": lambda _: None,
            "pass_arm": lambda study, name, _: Arm("control", PhpBuild("fpm", "8.2"), study.arm(name).settings),
            "MeasuringLock": contextlib.nullcontext,
            "serving": stack.stand,
            "on_cores": lambda _: contextlib.nullcontext(),
            "driven_instance": lambda arm, *_, **__: SimpleNamespace(arm=arm, driver=SimpleNamespace(close=lambda: None)),
            "warm_up": stack.warm_up,
            "count_syscalls": lambda *_: Traced(2, CALLS),
        }
        for name, fake in fakes.items():
            monkeypatch.setattr(syscall_pass, name, fake)
        progress: Any = SimpleNamespace(phase=lambda _: None)
        return syscall_pass.count_pass(wanted, wanted.passes[0], requests=50, logs=tmp_path, progress=progress), stack

    return run


def test_arms_are_held_against_the_control_and_counted_in_the_pass_s_order(count: Any) -> None:
    wanted = study(
        {"low": {"ini.memory_limit": "64M"}, "control": CONTROL, "commit": {**CONTROL, "source": COMMIT, "env.MODE": "x"}},
        ("low", "control", "commit"),
        ("shop", "control", ("low",)),
    )
    facts = {
        "control": PLAIN,
        "low": with_ini(PLAIN, memory_limit="64M"),
        "commit": msgspec.structs.replace(PLAIN, source=COMMIT, served_files=2, env={"MODE": "x"}),
    }
    counts, stack = count(wanted, facts)
    assert [each.arm for each in counts] == ["low", "control", "commit"]
    assert stack.started == ["control", "low", "commit"]
    assert stack.apps == {"commit": COMMIT}
    assert stack.asked_env == {("MODE",)}
    assert counts[0].syscalls == CALLS


def test_a_control_that_the_pass_does_not_name_is_started_but_not_reported(count: Any) -> None:
    wanted = study({"low": {"ini.memory_limit": "64M"}, "control": CONTROL}, ("low",), ("shop", "control", ("low",)))
    counts, stack = count(wanted, {"control": PLAIN, "low": with_ini(PLAIN, memory_limit="64M")})
    assert [each.arm for each in counts] == ["low"]
    assert stack.started == ["control", "low"]


@pytest.mark.parametrize(
    ("settings", "facts", "why"),
    [
        ({"ini.memory_limit": "64M"}, PLAIN, "is not effective"),
        ({"source": COMMIT}, PLAIN, "the worker was given the work tree to serve"),
        ({"ini.memory_limit": "134217728"}, with_ini(PLAIN, memory_limit="134217728"), "the control has the same value"),
    ],
)
def test_an_arm_that_is_not_what_it_says_fails_the_part(count: Any, settings: dict[str, str], facts: WorkerFacts, why: str) -> None:
    wanted = study({"control": CONTROL, "other": settings}, ("control", "other"))
    with pytest.raises(ArmFailed, match=why):
        count(wanted, {"control": PLAIN, "other": facts})


def test_the_control_of_another_app_is_not_asked(count: Any) -> None:
    wanted = study({"control": CONTROL, "low": {"ini.memory_limit": "64M"}}, ("low",), ("blog", "control", ("low",)))
    counts, stack = count(wanted, {"low": with_ini(PLAIN, memory_limit="64M")})
    assert stack.started == ["low"]
    assert len(counts) == 1
