"""The order of a cross-check, and what it does where a rival is missing or fails. No generator
runs."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from phpdyno.drive.rivals import RivalReport
from phpdyno.errors import DynoError
from phpdyno.experiment.sweep import cross_check as module
from phpdyno.experiment.sweep.cross_check import CrossCheckSetup, checkable, cross_check, find_rival, take_turns
from phpdyno.model.workload import Target, Workload


def chance(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def setup(concurrency: int = 5, keeps: int = 500) -> CrossCheckSetup:
    instance = SimpleNamespace(arm=SimpleNamespace(name="five"), http="tcp:127.0.0.1:8080", keeps=lambda many: many <= keeps)
    return CrossCheckSetup(cast(Any, instance), Target("/?p=1"), "localhost", concurrency, 1.0)


def test_turns_are_pairs_in_the_order_of_a_coin() -> None:
    order: list[str] = []

    def turn(who: str, per_s: float) -> float:
        order.append(who)
        return per_s

    ratios = take_turns(lambda: turn("o", 200.0), lambda: turn("t", 100.0), turns=40, chance=chance())
    assert ratios == (0.5,) * 40
    pairs = {"".join(order[index : index + 2]) for index in range(0, 80, 2)}
    assert pairs == {"ot", "to"}


def test_the_target_is_the_heaviest_plain_one_that_answers_with_success() -> None:
    moved, made = Target("/b", weight=9.0, status=301), Target("/c", weight=3.0, status=204)
    posted, known = Target("/d", weight=8.0, method="POST"), Target("/e", weight=7.0, cookies={"session": "1"})
    assert checkable(Workload((Target("/a"), moved, made, posted, known))) == made
    assert checkable(Workload((Target("/gone", status=404), posted, known))) is None


def test_the_address_is_the_instances() -> None:
    assert setup().url == "http://127.0.0.1:8080/?p=1"


@pytest.mark.parametrize(("name", "package"), [("wrk", "wrk"), ("ab", "apache2-utils")])
def test_a_rival_that_is_missing_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch, name: Any, package: str) -> None:
    monkeypatch.setenv("PHPDYNO_PATH", "/no/such/place")
    with pytest.raises(DynoError, match=rf"{name} is not installed; install it with: .* {package}$"):
        find_rival(name)


def runs(monkeypatch: pytest.MonkeyPatch, *, kept: int) -> list[tuple[str, int, bool]]:
    """Both generators made up: who was asked for how many requests, with kept connections or
    not."""
    asked: list[tuple[str, int, bool]] = []

    def ours(_: CrossCheckSetup, requests: int, *, keep_alive: bool) -> float:
        asked.append(("ours", requests, keep_alive))
        return 1000.0 if keep_alive else 500.0

    def ab(_: CrossCheckSetup, _path: str, requests: int, _rate: float) -> RivalReport:
        asked.append(("ab", requests, kept > 0))
        return RivalReport(requests, requests * 2_000_000, kept if kept == 0 else requests)

    monkeypatch.setattr(module, "find_rival", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(module, "_ours", ours)
    monkeypatch.setattr(module, "_ab", ab)
    return asked


def test_where_ab_cannot_keep_its_connections_neither_do_we(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = runs(monkeypatch, kept=0)
    found = cross_check(setup(), "ab", chance())
    assert (found.kept, found.detail) == (False, "")
    assert found.ratios == pytest.approx((1.0,) * module.TURNS)
    assert asked[:3] == [("ours", 100, True), ("ab", 100, False), ("ours", 100, False)]
    assert {entry for entry in asked[3:] if entry[0] == "ours"} == {("ours", 500, False)}


def test_where_ab_keeps_them_so_do_we(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = runs(monkeypatch, kept=1)
    found = cross_check(setup(), "ab", chance())
    assert found.kept
    assert found.ratios == pytest.approx((0.5,) * module.TURNS)
    assert {entry for entry in asked[2:] if entry[0] == "ours"} == {("ours", 1000, True)}


def test_a_server_that_cannot_keep_so_many_connections_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = runs(monkeypatch, kept=1)
    found = cross_check(setup(6, keeps=5), "ab", chance())
    assert (found.ratios, found.detail, asked) == ((), module.TOO_FEW, [])
    assert cross_check(setup(5, keeps=5), "ab", chance()).ratios


def test_a_rival_that_reports_failures_leaves_no_ratio_but_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, kept=1)

    def fails(*_: object) -> RivalReport:
        raise DynoError("wrk had failures: Socket errors: connect 0, read 3, write 0, timeout 0")

    monkeypatch.setattr(module, "_wrk", fails)
    found = cross_check(setup(), "wrk", chance())
    assert (found.tool, found.arm, found.concurrency, found.ratios) == ("wrk", "five", 5, ())
    assert "Socket errors" in found.detail
