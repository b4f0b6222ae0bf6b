"""What training has a program count: not its start, and no wrong answer. Servers are fakes; the signals are obeyed by a real program."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from msgspec import Struct, json, structs

from phpdyno.build import beside
from phpdyno.build import training as module
from phpdyno.build.beside import WrongAnswer
from phpdyno.build.training import FORGET, NO_COURSE, WRITE, Course, Trainer
from phpdyno.build.tree import SIGNALS
from phpdyno.experiment import gate
from phpdyno.experiment.slot import Lane
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.workload import Target, Workload
from phpdyno.stack.bench import Bench
from phpdyno.stack.instance import ArmFailed
from tests.support.fake_stage import FakeInstance, FakeStage

ARM = Arm("training", PhpBuild("/made-up/php-fpm", "8.2.36"), {}, {})
CONTROL = structs.replace(ARM, name="control")
WORKLOAD = Workload((Target("/", weight=3.0), Target("/about", weight=1.0)))
SHORT = Course(seconds=1e-9, least=120)
WORKERS = (7, 8)
MASTER = 5
ENDS = SimpleNamespace(wait=lambda _: True)
HANGS = SimpleNamespace(wait=lambda _: False)


class FakeBench:
    """Runs fakes, and notes what is asked of that which learns, in order: the number of requests, or a signal and to whom."""

    transport = "http"

    def __init__(self, *, fpm: Any = ENDS, fails_at: int = -1) -> None:
        self.asked: list[object] = []
        self.bounds: list[tuple[str, int]] = []
        self._fpm = fpm
        self._fails_at = fails_at

    @contextmanager
    def running(self, arms: Sequence[Arm]) -> Iterator[Sequence[FakeInstance]]:
        stage = FakeStage(self._meanwhile)
        made = stage.start(arms)
        for each in made:
            each.php_pid, each.fpm = MASTER, self._fpm
            each.driver.close = lambda: None
            drive = each.driver.drive
            each.driver.drive = lambda sequence, drive=drive: self._failing(drive(sequence))
        yield made

    def lane(self, instance: FakeInstance, *_: object, lengths: dict[str, object], **__: object) -> Lane:
        """It is told of how many targets the length of an answer is known."""
        self.bounds.append((instance.arm.name, len(lengths)))
        return Lane(cast(Any, instance), cast(Any, instance.driver))

    def _meanwhile(self, instance: FakeInstance, size: int) -> None:
        assert instance.arm is ARM, "the control is asked for its answers only"
        self.asked.append(size)

    def _failing(self, samples: Any) -> Any:
        slots = sum(isinstance(each, int) for each in self.asked)
        if slots - 1 == self._fails_at:
            samples.outcome = np.ones(samples.outcome.size, dtype=np.uint8)
        return samples


def trainer(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Trainer:
    monkeypatch.setattr(gate, "LEARNING_PAUSE_S", 0.0)
    monkeypatch.setattr(module, "children_of", lambda _: WORKERS)
    monkeypatch.setattr(beside, "make_lane", bench.lane)
    monkeypatch.setattr(module, "_send", lambda _, pid, number: bench.asked.append((pid, number)))
    return Trainer(beside.Beside(cast(Bench, bench), CONTROL, WORKLOAD), WORKLOAD)


def test_what_the_start_counted_is_forgotten_by_all_and_what_the_course_counted_is_written_by_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = FakeBench()
    trained = trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)
    warming, forgetting, course, writing = bench.asked[0], bench.asked[1:4], bench.asked[4:-2], bench.asked[-2:]
    assert warming == module.WARM_ROUNDS * len(WORKLOAD.targets)
    assert forgetting == [(pid, FORGET) for pid in (*WORKERS, MASTER)]
    assert course == [module.SLOT] * 3
    assert writing == [(pid, WRITE) for pid in WORKERS]
    assert trained.requests == 3 * module.SLOT
    assert sum(trained.targets.values()) == trained.requests
    assert trained.targets["/"] > trained.targets["/about"] > 0


def test_what_obeys_no_signals_is_asked_to_end_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = FakeBench()
    trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=False)
    assert [each for each in bench.asked if isinstance(each, tuple)] == [(MASTER, signal.SIGQUIT)]
    assert bench.asked[-1] == (MASTER, signal.SIGQUIT)
    with pytest.raises(ArmFailed, match="did not end within"):
        trainer(FakeBench(fpm=HANGS), monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=False)


def test_a_start_without_a_course_is_warmed_up_and_checked_as_one_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = FakeBench()
    trained = trainer(bench, monkeypatch).train(ARM, NO_COURSE, lambda *_: None, by_signals=False)
    assert bench.asked == [module.WARM_ROUNDS * len(WORKLOAD.targets), (MASTER, signal.SIGQUIT)]
    assert trained.requests == 0


def test_answers_on_the_way_are_held_to_the_lengths_that_the_control_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = FakeBench()
    trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)
    assert bench.bounds == [(CONTROL.name, 0), (ARM.name, len(WORKLOAD.targets))]


@pytest.mark.parametrize("fails_at", [0, 2])
def test_a_request_that_fails_on_the_way_ends_it_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch, fails_at: int) -> None:
    bench = FakeBench(fails_at=fails_at)
    with pytest.raises(WrongAnswer, match="requests fail while training: "):
        trainer(bench, monkeypatch).train(ARM, SHORT, lambda *_: None, by_signals=True)
    assert sum(isinstance(each, int) for each in bench.asked) == fails_at + 1
    assert not [each for each in bench.asked if isinstance(each, tuple) and each[1] == WRITE]


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
