"""Training: the app's own traffic through the real servers, with the answers of the PHP that is
there; what was counted is written down."""

import os
import signal
import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from phpdyno.experiment.comparison.schedule import deal
from phpdyno.model.arm import Arm
from phpdyno.model.workload import Workload
from phpdyno.php_build.compile.tree_commands import Tell
from phpdyno.php_build.train.beside import Beside, StartedTogether, WrongAnswer
from phpdyno.server_files.php import QUIT_S
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.instance import ArmFailed, Instance

FORGET = signal.SIGRTMIN + 5
WRITE = signal.SIGRTMIN + 6
"""As profile_signals.c knows them."""
WARM_ROUNDS = 3
SLOT = 50
GRACE_S = 10.0
MOST_OTHERWISE = 0.01
"""Of the requests so many may be answered by another page than the control's, each of them once:
pages have something to announce."""


class TrainingLength(Struct, frozen=True):
    """How much traffic: for `seconds`, and `least` requests at any rate."""

    seconds: float = 15.0
    least: int = 500
    seed: int = 1


NO_COURSE = TrainingLength(seconds=0.0, least=0)
"""No request beyond those that warm up and check."""


class Trained(Struct, frozen=True):
    """Requests in all, and those of each target by its label. `opcache`: it was loaded as a
    module."""

    requests: int
    targets: dict[str, int]
    opcache: bool = False


class Trainer:
    """Trains instrumented arms on one stage, beside the control that says what is right: on a wrong
    page nothing is learnt."""

    def __init__(self, beside: Beside, workload: Workload) -> None:
        self._workload = workload
        self._beside = beside

    def train(self, arm: Arm, training_length: TrainingLength, tell: Tell, *, by_signals: bool) -> Trained:
        """Drive an arm with one worker: warm it up, have it forget that, drive it for the
        length of the training, check the answers again, have it write.

        `by_signals`: it obeys those of profile_signals.c; else it writes when it ends by itself,
        start-up and all. Raises WrongAnswer, ArmFailed.
        """
        with self._beside.running(arm) as together:
            learning = together.other
            self._ask(together, list(range(len(self._workload.targets))) * WARM_ROUNDS)
            opcache = bool(learning.read_facts(()).opcache_so)
            if by_signals:
                self._signal(learning, FORGET)
            trained = self._drive(together, training_length, tell)
            self._beside.check(together)
            if by_signals:
                self._signal(learning, WRITE)
            else:
                _end_gracefully(learning)
            return structs.replace(trained, opcache=opcache)

    def _drive(self, together: StartedTogether, training_length: TrainingLength, tell: Tell) -> Trained:
        weights = [target.weight for target in self._workload.targets]
        generator = np.random.Generator(np.random.PCG64(training_length.seed))
        counts = np.zeros(len(weights), dtype=np.int64)
        otherwise: list[str] = []
        began = time.monotonic()
        while (spent := time.monotonic() - began) < training_length.seconds or counts.sum() < training_length.least:
            sequence = deal(generator, weights, SLOT)
            otherwise += self._ask(together, sequence.tolist())
            counts += np.bincount(sequence, minlength=len(weights))
            if len(otherwise) > MOST_OTHERWISE * max(int(counts.sum()), training_length.least):
                what = f"{len(otherwise)} of {counts.sum()} requests were answered otherwise than by the control: {otherwise[0]}"
                raise WrongAnswer(what, where=together.other.arm.name)
            tell("training", min(spent / training_length.seconds, float(counts.sum()) / training_length.least, 1.0))
        labels = [target.label for target in self._workload.targets]
        return Trained(int(counts.sum()), dict(zip(labels, map(int, counts), strict=True)))

    def _ask(self, together: StartedTogether, indices: Sequence[int]) -> list[str]:
        """One request after the other, each answer looked at whole; what those had otherwise that
        differed once."""
        return [what for index in indices if (what := self._beside.ask(together, index))]

    def _signal(self, instance: Instance, number: int) -> None:
        """Signal the workers, and the master, whose start-up is forgotten with theirs."""
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
    """A worker that is killed writes nothing; one that is asked to quit ends as a program ends.
    Raises ArmFailed where it does not."""
    _send(instance, instance.php_pid, signal.SIGQUIT)
    if not instance.fpm.wait(QUIT_S + GRACE_S):
        raise ArmFailed(instance.arm, f"php-fpm did not end within {QUIT_S + GRACE_S:.0f} s of being asked to")
