"""Training: the app's own traffic through the real servers, with the answers of the PHP that is there; what was counted is written down."""

import os
import signal
import time

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.build.beside import Beside, WrongAnswer
from phpdyno.build.tree import Tell
from phpdyno.drive.driver import failure_kinds, in_words
from phpdyno.experiment.schedule import deal
from phpdyno.experiment.slot import Lane
from phpdyno.model.arm import Arm
from phpdyno.model.workload import Workload
from phpdyno.render.php import QUIT_S
from phpdyno.stack.instance import ArmFailed, Instance
from phpdyno.stack.meter import children_of

FORGET = signal.SIGRTMIN + 5
WRITE = signal.SIGRTMIN + 6
"""As profile_signals.c knows them."""
WARM_ROUNDS = 3
SLOT = 50
GRACE_S = 10.0


class Course(Struct, frozen=True):
    """How much traffic: for `seconds`, and `least` requests at any rate."""

    seconds: float = 15.0
    least: int = 500
    seed: int = 1


NO_COURSE = Course(seconds=0.0, least=0)
"""No request beyond those that warm up and check."""


class Trained(Struct, frozen=True):
    """Requests in all, and those of each target by its label."""

    requests: int
    targets: dict[str, int]


class Trainer:
    """Trains instrumented arms on one stage, beside the control that says what is right: on a wrong page nothing is learnt."""

    def __init__(self, beside: Beside, workload: Workload) -> None:
        self._workload = workload
        self._beside = beside

    def train(self, arm: Arm, course: Course, tell: Tell, *, by_signals: bool) -> Trained:
        """Drive an arm with one worker: warm it up, have it forget that, drive the course, check the answers again, have it write.

        `by_signals`: it obeys those of profile_signals.c; else it writes when it ends by itself, start-up and all. Raises WrongAnswer,
        ArmFailed.
        """
        with self._beside.running(arm) as together:
            lane, learning = together.lane, together.other
            self._warm(lane)
            if by_signals:
                self._signal(learning, FORGET)
            trained = self._drive(lane, course, tell)
            self._beside.check(together)
            if by_signals:
                self._signal(learning, WRITE)
            else:
                _end_gracefully(learning)
            return trained

    def _warm(self, lane: Lane) -> None:
        every = np.tile(np.arange(len(self._workload.targets), dtype=np.uint32), WARM_ROUNDS)
        self._must_hold(lane, every)

    def _drive(self, lane: Lane, course: Course, tell: Tell) -> Trained:
        weights = [target.weight for target in self._workload.targets]
        generator = np.random.Generator(np.random.PCG64(course.seed))
        counts = np.zeros(len(weights), dtype=np.int64)
        began = time.monotonic()
        while (spent := time.monotonic() - began) < course.seconds or counts.sum() < course.least:
            sequence = deal(generator, weights, SLOT)
            self._must_hold(lane, sequence)
            counts += np.bincount(sequence, minlength=len(weights))
            tell("training", min(spent / course.seconds, float(counts.sum()) / course.least, 1.0))
        labels = [target.label for target in self._workload.targets]
        return Trained(int(counts.sum()), dict(zip(labels, map(int, counts), strict=True)))

    def _must_hold(self, lane: Lane, sequence: NDArray[np.uint32]) -> None:
        """Drive; a request with another answer (its length included) ends it."""
        failed = failure_kinds(lane.driver.drive(sequence))
        if failed:
            raise WrongAnswer(f"requests fail while training: {in_words(failed)}", where=lane.instance.arm.name)

    def _signal(self, instance: Instance, number: int) -> None:
        """To the workers, and to the master, whose start-up is forgotten with theirs."""
        pids = (*children_of(instance.php_pid), *([instance.php_pid] if number == FORGET else []))
        for pid in pids:
            _send(instance, pid, number)
        instance.await_idle()
        time.sleep(0.05)
        instance.await_idle()


def _send(instance: Instance, pid: int, number: int) -> None:
    """Raises ArmFailed for a process that has ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError as error:
        why = instance.complaint()
        raise ArmFailed(instance.arm, f"one of its processes ended while it was trained{f': {why}' if why else ''}") from error


def _end_gracefully(instance: Instance) -> None:
    """A worker that is killed writes nothing; one that is asked to quit ends as a program ends. Raises ArmFailed where it does not."""
    _send(instance, instance.php_pid, signal.SIGQUIT)
    if not instance.fpm.wait(QUIT_S + GRACE_S):
        raise ArmFailed(instance.arm, f"php-fpm did not end within {QUIT_S + GRACE_S:.0f} s of being asked to")
