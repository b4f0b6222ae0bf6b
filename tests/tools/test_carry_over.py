from types import SimpleNamespace
from typing import cast

import pytest
from tools.bench.sections.carry_over import figures_of

from phpdyno.commands.compare.view.measuring import CarriedEffect, CarryOverRow
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.errors import DynoError


def effect(slot: int, ratio: float | None, *, main: bool = False) -> CarriedEffect:
    low, high = (None, None) if ratio is None else (ratio - 0.01, ratio + 0.01)
    return CarriedEffect(slot, main, ratio, low, high, (), 8, 7)


def test_each_length_is_a_figure_with_its_interval_or_without_one() -> None:
    effects = (effect(1, 1.08), effect(20, None), effect(54, 1.05, main=True))
    row = CarryOverRow("jit;buffer", "cpu", 0.95, 0.01, effects, differs=True, said="the effect depends on the slot length")
    found = figures_of("hello", cast(RunView, SimpleNamespace(carry_over=(row,))))
    assert [(each.estimate, each.low) for each in found] == [(1.08, 1.07), (1.0, None), (1.05, 1.04)]
    assert [each.name.rpartition("slots of ")[2] for each in found] == [
        "1 request",
        "20 requests",
        "54 requests, which the verdict rests on",
    ]
    assert found[0].name.startswith("hello: CPU per request, without / with jit, ")
    assert [each.detail for each in found] == ["", "", "the effect depends on the slot length"]


def test_a_treatment_that_was_not_looked_at_is_no_empty_section() -> None:
    view = SimpleNamespace(carry_over=(), carry_over_missing="", rows=(SimpleNamespace(reason="the JIT compiles nothing"),))
    with pytest.raises(DynoError, match="hello: the JIT compiles nothing"):
        figures_of("hello", cast(RunView, view))
