"""Warm-up ends on state: how many rounds it takes, against a fake instance that changes as the test
says."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from phpdyno.experiment.common import warm_up as warmup
from phpdyno.experiment.common.slot import SharedMeters, SlotReading
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.experiment.common.warm_up import Warm, warm_up
from phpdyno.model.facts import ServerFacts, WorkerFacts
from phpdyno.model.plan import Metric
from phpdyno.servers.instance import ArmFailed
from tests.support.made_up.facts import JIT_ON, NO_OPCACHE, OPCACHE, PLAIN, with_jit

MS = 1_000_000


def cached(scripts: int) -> WorkerFacts:
    return structs.replace(PLAIN, opcache=structs.replace(OPCACHE, scripts=scripts))


def compiled(free_bytes: int) -> WorkerFacts:
    return with_jit(PLAIN, structs.replace(JIT_ON, buffer_free_bytes=free_bytes))


class FakeInstance:
    """Tells one fact after another, the last for ever, and takes some milliseconds for a
    request."""

    arm = SimpleNamespace(name="fake", settings={})

    def __init__(self, facts: list[WorkerFacts], request_ms: float, failures: dict[str, int], php_ns: list[int]) -> None:
        self._facts = facts
        self._request_ns = int(request_ms * MS)
        self._failures = failures
        self._php_ns = php_ns
        self.rounds: list[int] = []

    def read_facts(self, _: tuple[str, ...]) -> WorkerFacts:
        return self._facts.pop(0) if len(self._facts) > 1 else self._facts[0]

    def complaint(self) -> str:
        return ""

    def crashes(self) -> str:
        return ""

    def broken(self) -> str:
        return ""

    def serve(self, sequence: Any) -> SlotReading:
        self.rounds.append(len(sequence))
        sent = np.arange(len(sequence), dtype=np.uint64) * np.uint64(self._request_ns)
        done = sent + np.uint64(self._request_ns)
        samples = SimpleNamespace(sent_ns=sent, done_ns=done, target=sequence, outcome=np.zeros(len(sequence), dtype=np.uint8))
        wall_ns = len(sequence) * self._request_ns
        php_ns = self._php_ns.pop(0) if len(self._php_ns) > 1 else self._php_ns[0]
        reading: Any = SimpleNamespace(samples=samples, wall_ns=wall_ns, php_ns=php_ns, failures=self._failures, valid=len(sequence))
        result: SlotReading = reading
        return result


def warmed(
    monkeypatch: pytest.MonkeyPatch,
    facts: list[WorkerFacts],
    *,
    request_ms: float = 30.0,
    served: bool = False,
    failures: dict[str, int] | None = None,
    php_ns: tuple[int, ...] = (MS,),
    workers: int = 1,
    metric: Metric = "cpu",
    patience: int = 1,
) -> tuple[list[int], Warm]:
    """Requests of each round, and how it ended; two targets."""
    instance = FakeInstance(facts, request_ms, failures or {}, list(php_ns))
    monkeypatch.setattr(warmup, "measure_slot", lambda driven, _, sequence: driven.instance.serve(sequence))
    driven: Any = SimpleNamespace(instance=instance, begin=lambda: None)
    shared: Any = SharedMeters(None, SimpleNamespace())
    warm = warm_up(driven, shared, metric=metric, weights=[1.0, 1.0], env_names=(), workers=workers, served=served, patience=patience)
    return instance.rounds, warm


def test_every_worker_serves_every_target_where_each_request_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []
    serve = FakeInstance.serve

    def remembering(self: FakeInstance, sequence: Any) -> SlotReading:
        asked.append(sequence.tolist())
        return serve(self, sequence)

    monkeypatch.setattr(FakeInstance, "serve", remembering)
    warmed(monkeypatch, [cached(5)], workers=3)
    assert asked == [[0, 0, 0, 1, 1, 1]] * 2  # idle workers take turns
    asked.clear()
    warmed(monkeypatch, [cached(5)], workers=3, request_ms=1.0)
    assert asked[-1] == [0, 0, 0, 1, 1, 1] * 2  # 10 ms, all workers alike


def test_under_load_a_round_has_as_many_requests_as_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, _ = warmed(monkeypatch, [cached(5)], workers=5, metric="throughput")
    assert rounds == [6, 6]


def test_one_round_that_caches_and_one_that_finds_everything_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, warm = warmed(monkeypatch, [cached(5)])

    assert rounds == [2, 2]
    assert warm.steady
    assert warm.request_wall_ns == 30 * MS


def test_an_instance_that_has_served_its_targets_needs_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, warm = warmed(monkeypatch, [cached(5)], served=True)

    assert rounds == [2]
    assert warm.steady


def test_a_script_that_is_cached_late_takes_another_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, _ = warmed(monkeypatch, [cached(5), cached(6), cached(7)], served=True)

    assert rounds == [2, 2, 2]


def test_machine_code_must_be_unchanged_for_two_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, _ = warmed(monkeypatch, [compiled(50_000_000), compiled(40_000_000)], served=True)

    assert rounds == [2, 2, 2]  # one that compiled, two that did not


def test_the_compilers_rest_of_one_round_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    resting = [compiled(50_000_000), compiled(50_000_000), compiled(40_000_000)]
    rounds, _ = warmed(monkeypatch, resting, served=True)

    assert len(rounds) == 4


def test_a_round_that_is_too_short_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, _ = warmed(monkeypatch, [cached(5)], request_ms=0.25, served=True)

    assert rounds == [2, 40]  # 10 ms


def test_rounds_of_an_app_that_is_compiled_are_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, _ = warmed(monkeypatch, [compiled(50_000_000)], request_ms=0.25, served=True)

    assert rounds == [2, 240, 240]  # 60 ms


@pytest.mark.parametrize("served", [False, True])
def test_without_opcache_one_round_is_enough(monkeypatch: pytest.MonkeyPatch, served: bool) -> None:
    rounds, warm = warmed(monkeypatch, [NO_OPCACHE], served=served)

    assert rounds == [2]
    assert warm.steady


def test_what_never_becomes_steady_ends_all_the_same_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "CAP_S", -1.0)
    rounds, warm = warmed(monkeypatch, [cached(5), cached(6)], served=True)

    assert rounds == [2]
    assert not warm.steady


def test_a_failed_request_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RequestFailed, match=r"requests fail during warm-up: 1 wrong_status"):
        warmed(monkeypatch, [cached(5)], failures=Counter({"wrong_status (500)": 1}))


def test_targets_that_php_does_not_serve_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArmFailed, match="php-fpm does nothing"):
        warmed(monkeypatch, [cached(5)], php_ns=(0,))


def test_a_round_whose_work_is_counted_late_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, warm = warmed(monkeypatch, [cached(5)], php_ns=(0, 0, MS, MS))
    assert rounds == [2, 2, 2, 2]
    assert warm.request_cpu_ns > 0


@pytest.mark.parametrize(
    ("warm", "now", "said"),
    [
        (cached(5), cached(5), ""),
        (cached(5), cached(8), "3 scripts more"),
        (compiled(1 << 20), compiled((1 << 20) - 65_536), "64 KiB of machine code more"),
        # A trace now and then goes on for long after the bulk.
        (compiled(1 << 20), compiled((1 << 20) - 1000), ""),
        (NO_OPCACHE, NO_OPCACHE, ""),
    ],
)
def test_what_was_compiled_after_the_warm_up_is_told(warm: WorkerFacts, now: WorkerFacts, said: str) -> None:
    assert warmup.compiled_since(warm, now) == said


def test_a_warm_up_that_came_too_short_waits_for_more_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    once, again = (warmed(monkeypatch, [cached(5)], patience=patience)[0] for patience in (1, 4))
    assert len(again) == len(once) + 3


@pytest.mark.parametrize(
    ("setting", "counts", "lengths", "found"),
    [
        ("1", [0, 1, 2], [2, 1], 1),
        ("1", [0, 0, 2], [2, 1, 1], 2),
        ("1", [0], [2, 1, 1], 0),
        ("1", [3, 0], [2], 3),
        ("0", [0, 1], [2], 0),
    ],
)
def test_targets_are_asked_by_themselves_until_a_kept_connection_shows(
    monkeypatch: pytest.MonkeyPatch, setting: str, counts: list[int], lengths: list[int], found: int
) -> None:
    monkeypatch.setattr(FakeInstance, "arm", SimpleNamespace(name="keeps", settings={"web.fastcgi_keepalive": setting}))
    facts = [structs.replace(PLAIN, opcache=None, servers=ServerFacts(kept_connections=count)) for count in counts]
    rounds, warm = warmed(monkeypatch, facts)
    assert (rounds, warm.facts.servers.kept_connections) == (lengths, found)
