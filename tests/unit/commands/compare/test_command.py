"""What the exit code of `phpdyno compare` says: nothing that was not asked for."""

from dataclasses import replace

import pytest
from msgspec import structs

from phpdyno.commands.compare.command import _exit_code
from phpdyno.commands.compare.options import CompareOptions
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.records import BlockDone
from phpdyno.model.verdict import VerdictKind
from tests.support.made_up.journals import JIT, blocks, finished, opening, paid_by_the_database, plan

TYPED = CompareOptions("hello", ("ini.opcache.enable=0",))
CAREFUL = replace(TYPED, fail_on="regression", require_verdict=True)


@pytest.mark.parametrize(
    ("asked", "kinds", "code"),
    [
        (TYPED, ("regressed", "inconclusive", "invalid"), 0),
        (TYPED, ("invalid", "invalid"), 5),
        (replace(TYPED, fail_on="regression"), ("improved", "regressed"), 3),
        (replace(TYPED, fail_on="regression"), ("improved", "equivalent", "inconclusive", "invalid"), 5),
        (replace(TYPED, fail_on="regression"), ("invalid", "regressed"), 3),
        (replace(TYPED, require_verdict=True), ("improved", "inconclusive"), 4),
        (replace(TYPED, require_verdict=True), ("improved", "regressed", "equivalent", "invalid"), 4),
        (replace(TYPED, require_verdict=True), ("improved", "regressed", "equivalent"), 0),
        (CAREFUL, ("inconclusive", "regressed"), 3),
        (CAREFUL, ("inconclusive", "equivalent"), 4),
        (CAREFUL, ("improved", "equivalent"), 0),
    ],
)
def test_exit_codes_that_were_asked_for(asked: CompareOptions, kinds: tuple[VerdictKind, ...], code: int) -> None:
    view = view_of(finished(), "run")
    rows = tuple(structs.replace(row, kind=kind) for row, kind in zip(view.rows, kinds, strict=False))
    assert _exit_code(asked, structs.replace(view, rows=rows)) == code


@pytest.mark.parametrize(
    ("done", "code"),
    [
        (blocks({JIT.name: 1.07}, 20), 0),
        (blocks({JIT.name: 0.93}, 20), 3),
        (paid_by_the_database(blocks({JIT.name: 1.07}, 20)), 3),
        (blocks({JIT.name: 1.07}, 2), 4),
    ],
    ids=["improved", "regressed", "spent elsewhere", "inconclusive"],
)
def test_what_was_found_in_the_exit_code_as_far_as_it_was_asked_for(done: list[BlockDone], code: int) -> None:
    view = view_of([*opening(plan(JIT)), *done], "run")
    assert _exit_code(CAREFUL, view) == code
    assert _exit_code(TYPED, view) == 0
