"""`phpdyno compare`: the exit codes that were asked for."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.cli.compare import Options, _exit_code
from phpdyno.journal.records import BlockDone
from phpdyno.report.view import view_of
from tests.support.journals import JIT, blocks, opening, paid_by_the_database, plan

ASKED = Options(
    reference="hello",
    treatments=(JIT.name,),
    control="",
    aa=False,
    docroot=None,
    urls=(),
    script=None,
    metric="auto",
    margin=None,
    confidence="95%",
    budget="5m",
    transport="http",
    concurrency=None,
    slot=None,
    seed=1,
    runs=Path("runs"),
    resume=None,
    json=False,
    fail_on="regression",
    require_verdict=True,
)


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
    assert _exit_code(ASKED, view) == code
    assert _exit_code(structs.replace(ASKED, fail_on=None, require_verdict=False), view) == 0
