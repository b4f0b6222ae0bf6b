"""What training has a program count: not its start, and no wrong answer. Servers are fakes; the
signals are obeyed by a real program."""

import signal
import subprocess
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Struct, json, structs

from phpdyno._native import OUTCOMES
from phpdyno.experiment.common import answer_check
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.workload import Target, Workload
from phpdyno.php_build.compile.tree import SIGNALS
from phpdyno.php_build.train import beside
from phpdyno.php_build.train import training as module
from phpdyno.php_build.train.beside import WrongAnswer
from phpdyno.php_build.train.training import FORGET, NO_COURSE, WRITE, Trainer, TrainingLength
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import ArmFailed
from tests.support.fakes.fake_stage import PAGE, FakeInstance, FakeStage

ARM = Arm("training", PhpBuild("/made-up/php-fpm", "8.2.36"), {}, {})
CONTROL = structs.replace(ARM, name="control")
WORKLOAD = Workload((Target("/", weight=3.0), Target("/about", weight=1.0)))
SHORT = TrainingLength(seconds=1e-9, least=120)
WORKERS = (7, 8)
MASTER = 5
ENDS = SimpleNamespace(wait=lambda _: True)
HANGS = SimpleNamespace(wait=lambda _: False)


CHECKING = len(WORKLOAD.targets)
WARMING = module.WARM_ROUNDS * len(WORKLOAD.targets)
OTHER = PAGE.replace(b"some words", b"more words")


class FakeBench:
    """Runs fakes, and notes what is asked of that which learns, in order: a page, or a signal and
    to whom. Some of its answers, by their number, are `other` ones."""

    transport = "http"

    def __init__(self, *, fpm: Any = ENDS, wrong: Container[int] = (), other: bytes = OTHER, outcome: int = 0) -> None:
        self.asked: list[object] = []
        self._pages = 0
        self._fpm = fpm
        self._wrong = wrong
        self._other = SimpleNamespace(outcome=outcome, status=200, headers=[(b"Content-Type", b"text/html")], body=other, detail="")

    @contextmanager
    def running(self, arms: Sequence[Arm]) -> Iterator[Sequence[FakeInstance]]:
        made = FakeStage().start(arms)
        for each in made:
            each.php_pid, each.fpm = MASTER, self._fpm
            each.driver.close = lambda: None
            if each.arm is ARM:
                each.driver.fetch = lambda target, fetch=each.driver.fetch: self._answer(fetch(target))
        yield made

    def driven(self, instance: FakeInstance, *_: object, **__: object) -> DrivenInstance:
        return DrivenInstance(cast(Any, instance), cast(Any, instance.driver))

    @property
    def shape(self) -> list[object]:
        """What was asked, with pages one after the other as their number."""
        return [sum(1 for _ in several) if key is None else key for key, several in groupby(self.asked)]

    def _answer(self, right: Any) -> Any:
        self.asked.append(None)
        self._pages += 1
        return self._other if self._pages - 1 in self._wrong else right


def trainer(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Trainer:
    monkeypatch.setattr(answer_check, "LEARNING_PAUSE_S", 0.0)
    monkeypatch.setattr(module, "children_of", lambda _: WORKERS)
    monkeypatch.setattr(beside, "driven_instance", bench.driven)
    monkeypatch.setattr(module, "_send", lambda _, pid, number: bench.asked.append((pid, number)))
    return Trainer(beside.Beside(cast(Bench, bench), CONTROL, WORKLOAD), WORKLOAD)


def test_what_the_start_counted_is_forgotten_by_all_and_what_the_course_counted_is_written_by_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = FakeBench()
    trained = trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)
    forgetting, writing = [(pid, FORGET) for pid in (*WORKERS, MASTER)], [(pid, WRITE) for pid in WORKERS]
    assert bench.shape == [CHECKING + WARMING, *forgetting, 3 * module.SLOT + CHECKING, *writing]
    assert trained.requests == 3 * module.SLOT
    assert sum(trained.targets.values()) == trained.requests
    assert trained.targets["/"] > trained.targets["/about"] > 0


def test_what_obeys_no_signals_is_asked_to_end_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = FakeBench()
    trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=False)
    assert bench.shape[1:] == [(MASTER, signal.SIGQUIT)]
    with pytest.raises(ArmFailed, match="did not end within"):
        trainer(FakeBench(fpm=HANGS), monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=False)


def test_a_start_without_a_course_is_warmed_up_and_checked_as_one_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = FakeBench()
    trained = trainer(bench, monkeypatch).train(ARM, NO_COURSE, lambda *_: None, by_signals=False)
    assert bench.shape == [CHECKING + WARMING + CHECKING, (MASTER, signal.SIGQUIT)]
    assert trained.requests == 0


FIRST = CHECKING + WARMING
"""The number of the length of the training's first page."""


@pytest.mark.parametrize("first", [CHECKING, FIRST, FIRST + 70])
def test_another_page_than_the_control_s_on_the_way_ends_it_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """Of the very same length, with status 200."""
    assert len(OTHER) == len(PAGE)
    bench = FakeBench(wrong=range(first, first + 5))
    with pytest.raises(WrongAnswer, match="training: it does not answer as the control does: /"):
        trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)
    assert bench.asked.count(None) == first + 2
    assert not [each for each in bench.asked if isinstance(each, tuple) and each[1] == WRITE]


@pytest.mark.parametrize("other", [b"", PAGE[:400], PAGE.replace(b"some words", b"<b>Fatal error</b>: ")])
def test_what_is_no_page_of_the_app_s_is_not_learnt_once(monkeypatch: pytest.MonkeyPatch, other: bytes) -> None:
    bench = FakeBench(wrong={FIRST + 70}, other=other)
    with pytest.raises(WrongAnswer, match="training: it does not answer as the control does: /"):
        trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)
    assert bench.asked.count(None) == FIRST + 71


def test_a_page_may_have_something_to_announce_and_not_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    once = FakeBench(wrong={FIRST + 20})
    assert trainer(once, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True).requests == 3 * module.SLOT
    bench = FakeBench(wrong=range(FIRST + 20, FIRST + 50, 10))
    with pytest.raises(WrongAnswer, match="training: 3 of 50 requests were answered otherwise than by the control: "):
        trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)


def test_a_request_that_gets_no_answer_is_the_arm_s_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = FakeBench(wrong={FIRST + 70}, outcome=OUTCOMES.index("closed_early"))
    with pytest.raises(ArmFailed, match="gets no answer: closed_early"):
        trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)


class Counted(Struct):
    """A function, as gcov tells it."""

    name: str
    execution_count: int


class Functions(Struct):
    functions: list[Counted]


class Coverage(Struct):
    files: list[Functions]


MODULE = """
int started_in_module, served_in_module;
void start_module(void) { started_in_module++; }
void serve_module(void) { served_in_module++; }
"""
PROGRAM = """
#include <signal.h>
#include <unistd.h>
void start_module(void); void serve_module(void);
int started, served;
void start_program(void) { started++; }
void serve_program(void) { served++; }
int main(void) {
  for (int n = 0; n < 7; n++) { start_program(); start_module(); }
  raise(SIGRTMIN + 5);
  for (int n = 0; n < 5; n++) { serve_program(); serve_module(); }
  raise(SIGRTMIN + 6);
  _exit(0);
}
"""


def test_a_program_and_its_module_forget_and_write_by_a_signal(tmp_path: Path) -> None:
    """As `Tree.compile` links them; neither ends in a way that writes by itself."""
    (tmp_path / "module.c").write_text(MODULE)
    (tmp_path / "program.c").write_text(PROGRAM)

    def run(*argv: str) -> bytes:
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True).stdout

    counting, own = ("-fprofile-generate", "-ftest-coverage"), ("signals.o", "-Wl,--exclude-libs,libgcov.a", "-fprofile-generate")
    run("gcc", "-fPIC", "-c", str(SIGNALS), "-o", "signals.o")
    for name in ("module", "program"):
        run("gcc", "-O0", "-fPIC", *counting, "-c", f"{name}.c")
    run("gcc", "-shared", "module.o", *own, "-o", "libmodule.so")
    run("gcc", "program.o", *own, "-L.", "-lmodule", "-Wl,-rpath,$ORIGIN", "-o", "program")
    run("./program")
    told = [json.decode(run("gcov", "-j", "-t", f"{name}.gcda"), type=Coverage) for name in ("module", "program")]
    counted = {each.name: each.execution_count for one in told for file in one.files for each in file.functions}
    del counted["main"]
    assert counted == {"start_module": 0, "start_program": 0, "serve_module": 5, "serve_program": 5}
