"""The estimate in words, and what it is made of."""

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from phpdyno.commands.doctor.estimate import Decidable, estimate_plan, in_words
from phpdyno.experiment.common import answer_check as gate_file
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.comparison import block as block_file
from phpdyno.experiment.comparison import runner as runner_file
from phpdyno.experiment.comparison.runner import Runner
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.clock import HostCpu
from phpdyno.journal.reader import FILE
from phpdyno.journal.records import Calibrated
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.workload import Target, Workload
from phpdyno.session.arms import Arms
from tests.support.fakes.fake_stage import FakeMeter, FakeStage
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.journals import AA, CONTROL
from tests.support.made_up.protocol import LOADED

FOUND = Calibrated(4, 130_000, 129_000, {"A/A": 40}, 1.0, 0.5, "", sigma_pair=0.237, sigma_start=0.00304)


def test_in_words() -> None:
    said = in_words("hello", "8.2.1", FOUND, (Decidable(0.01, 49.3), Decidable(0.05, 4.8), Decidable(0.005, 179.9)))
    assert said == (
        "hello on PHP 8.2.1: 0.129 ms of php-fpm's CPU per request; pairs of slots of 4 requests scatter by 24 %, starts by 0.3 %: "
        "a difference of 1 % is decidable in about 50 s, one of 5 % is decidable in about 5 s, one of 0.5 % is decidable in about 3 min."
    )


def test_without_nginx_it_says_over_what() -> None:
    said = in_words("hello", "8.2.1", FOUND, (Decidable(0.01, 49.3),), "fastcgi")
    assert said.startswith("hello on PHP 8.2.1 over FastCGI: 0.129 ms")


def test_one_request_per_slot_and_what_takes_too_long() -> None:
    dear = structs.replace(FOUND, slot_requests=1, request_cpu_ns=21_100_000)
    said = in_words("shop", "8.2.1", dear, (Decidable(0.01, 700.0), Decidable(0.005, None)))
    assert "21.1 ms" in said
    assert "slots of one request" in said
    assert said.endswith("a difference of 1 % is decidable in about 12 min, one of 0.5 % takes more than an hour.")


@pytest.mark.parametrize(("seconds", "words"), [(1.0, "5 s"), (97.0, "95 s"), (98.0, "100 s"), (101.0, "2 min")])
def test_no_more_digits_than_there_are(seconds: float, words: str) -> None:
    assert in_words("hello", "8.2.1", FOUND, (Decidable(0.01, seconds),)).endswith(f"in about {words}.")


def test_no_request_takes_too_long_for_an_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_file, "LEARNING_PAUSE_S", 0.0)
    monkeypatch.setattr(block_file, "read_each", lambda cores: (HostCpu(0, 0, 0),))
    monkeypatch.setattr(runner_file, "driven_instance", lambda instance, *_, **__: DrivenInstance(instance, instance.driver))
    app = PreparedApp("shop", tmp_path, Workload((Target("/"),)), version="1")
    made = estimate_plan(app, Arms(CONTROL, LOADED, (AA,), {AA.name: "cpu"}), "http", seed=1)
    # To calibrating a budget is to requests what another one is to shorter ones.
    hopeless = structs.replace(made, budget_s=1e-3)
    with JournalWriter(tmp_path / FILE) as journal:
        shared = SharedMeters(None, cast(Any, FakeMeter()))
        runner = Runner(RunState(hopeless), cast(Any, FakeStage()), shared, journal, run=tmp_path, progress=FakeProgress())
        runner.calibrate()
        found = runner.forecast(0.01, 3600.0)
    assert found is not None
    assert found.slot_requests >= 1
