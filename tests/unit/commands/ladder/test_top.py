"""What goes on top of the best build of a ladder. Servers are fakes: they answer otherwise, or end,
where certain scripts are preloaded."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from phpdyno.commands.ladder import top as module
from phpdyno.commands.ladder.top import BuildSeen, look_at, top_of
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.plan import AppSource, Plan
from phpdyno.model.runs.ladder import LadderStep
from phpdyno.php_build.train.beside import WrongAnswer
from phpdyno.servers.instance import ArmFailed
from phpdyno.tuning.preloading import PRELOAD
from phpdyno.tuning.safe import Subset
from tests.support.made_up.facts import NO_OPCACHE, OPCACHE, PLAIN

BELOW = LadderStep("pgo+bolt", "build=pgo+bolt-1", "pgo", build="pgo+bolt-1")
FACTS = structs.replace(PLAIN, opcache=structs.replace(OPCACHE, used_bytes=28 << 20, free_bytes=100 << 20))
LOADED = ("index.php", "header.php", "plugin.php", "footer.php")
SILENT: Any = SimpleNamespace(phase=lambda _: None, note=lambda _: None, tick=lambda *_: None)
PLAN = cast(Plan, SimpleNamespace(source=AppSource("wordpress"), workload=None))
GIB_KIB = 1 << 20


def of_place(files: Sequence[str]) -> str:
    return f"/cache/preload/{'-'.join(files)}"


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "place", of_place)


def test_reserved_pages_are_counted_by_the_code_and_by_the_memory_that_is_shared() -> None:
    top = top_of(BELOW, BuildSeen((5000,), FACTS, LOADED, Subset(LOADED, 0)), memory_kib=16 * GIB_KIB, reservable=True)
    specs = {each.name: each.spec for each in top.steps}
    jit = "ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M"
    assert specs == {
        "huge text pages": "ini.opcache.huge_code_pages=1;os.vm.nr_hugepages=3",
        "JIT": jit,
        "JIT and preloading": f"{jit};ini.opcache.preload={of_place(LOADED)}",
        # 128 MiB of scripts, 64 MiB of the JIT's, three pages of code.
        "JIT and huge pages": f"{jit};ini.opcache.huge_code_pages=1;os.vm.nr_hugepages=99",
    }
    assert not top.notes


@pytest.mark.parametrize(
    ("memory_kib", "reservable", "ends", "said"),
    [
        (4 * GIB_KIB, True, "os.vm.nr_hugepages=3", "this host has too little memory for opcache's too (192 MiB)"),
        (16 * GIB_KIB, False, "huge_code_pages=1", "no huge pages can be reserved here"),
    ],
)
def test_pages_that_a_host_cannot_spare_are_not_asked_for(memory_kib: int, reservable: bool, ends: str, said: str) -> None:
    top = top_of(BELOW, BuildSeen((5000,), FACTS), memory_kib=memory_kib, reservable=reservable)
    assert [each.spec.endswith(ends) for each in top.steps] == [True, False, True]
    (note,) = top.notes
    assert said in note


def test_what_is_left_out_is_said() -> None:
    top = top_of(BELOW, BuildSeen((5000, 1200), FACTS, LOADED, Subset(LOADED[:2], 1)), memory_kib=16 * GIB_KIB, reservable=True)
    assert top.notes == (
        "pgo+bolt: opcache.huge_code_pages moves the code as it lay before BOLT (5,000 KiB, of which only what BOLT left in place still "
        "runs), and not the 1,200 KiB that BOLT laid out, which are another mapping",
        "preloading: 2 of 4 scripts are left out, as a start fails or an answer differs; 1 of them were not tried",
    )
    none = top_of(BELOW, BuildSeen((5000,), FACTS, LOADED), memory_kib=16 * GIB_KIB, reservable=True)
    assert none.notes == ("preloading: none of 4 scripts was found with which nothing fails and no answer differs",)
    assert "JIT and preloading" not in {each.name for each in none.steps}


class FakeBeside:
    """Its app answers otherwise where plugin.php is preloaded, php-fpm ends with footer.php;
    `facts` are those of its workers."""

    facts: WorkerFacts = FACTS
    breaks: str = ""

    def __init__(self, bench: object, control: Arm, workload: object) -> None:
        self._control = control

    def look_at(self, arm: Arm) -> tuple[WorkerFacts, WorkerFacts]:
        preloaded = arm.settings.get(PRELOAD, "")
        if self.breaks and self.breaks in preloaded:
            raise ArmFailed(self._control, "worker ended by signal 11")
        if "footer.php" in preloaded:
            raise ArmFailed(arm, "it exited with 255")
        if "plugin.php" in preloaded:
            raise WrongAnswer("it does not answer as the control does", where=arm.name)
        return self.facts, self.facts

    def look_into(self, arm: Arm) -> tuple[WorkerFacts, tuple[str, ...]]:
        assert PRELOAD not in arm.settings
        return self.facts, LOADED


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    def arms(control: str, treatments: Sequence[str], **_: object) -> object:
        php = PhpBuild("/cache/finished/php-fpm", "8.2.36")
        settings = [{name: value} for name, _, value in (each.partition("=") for each in treatments)]
        made = [Arm(spec, php, each, each) for spec, each in zip(treatments, settings, strict=True)]
        return SimpleNamespace(control=Arm("control", php), treatments=tuple(made or [Arm("A/A", php)]))

    monkeypatch.setattr(module, "open_app", lambda _: None)
    monkeypatch.setattr(module, "make_arms", arms)
    monkeypatch.setattr(module, "code_kib", lambda _: (5000,))
    monkeypatch.setattr(module, "MeasuringLock", nullcontext)
    monkeypatch.setattr(module, "serving", lambda *_, **__: nullcontext(SimpleNamespace(bench=None)))
    monkeypatch.setattr(module, "Beside", FakeBeside)
    return monkeypatch


def seen() -> BuildSeen:
    return look_at(BELOW, PLAN, logs=Path("/logs"), progress=SILENT)


@pytest.mark.usefixtures("looking")
def test_scripts_with_which_a_start_fails_or_an_answer_differs_are_found_out() -> None:
    assert seen() == BuildSeen((5000,), FACTS, LOADED, Subset(LOADED[:2], 0))


def test_a_control_that_fails_is_no_fault_of_a_script(looking: pytest.MonkeyPatch) -> None:
    looking.setattr(FakeBeside, "breaks", "index.php")
    with pytest.raises(ArmFailed, match=r"control: worker ended by signal 11"):
        seen()


def test_without_opcache_nothing_can_be_preloaded(looking: pytest.MonkeyPatch) -> None:
    looking.setattr(FakeBeside, "facts", NO_OPCACHE)
    assert seen() == BuildSeen((5000,), NO_OPCACHE)
