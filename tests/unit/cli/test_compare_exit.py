"""What the exit code of `phpdyno compare` says: nothing that was not asked for."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.cli.compare import Options, _exit_code
from phpdyno.model.verdict import VerdictKind
from phpdyno.report.view import view_of
from tests.support.journals import finished

TYPED = Options(
    reference="hello",
    treatments=("ini.opcache.enable=0",),
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
    fail_on=None,
    require_verdict=False,
)
CAREFUL = structs.replace(TYPED, fail_on="regression", require_verdict=True)


@pytest.mark.parametrize(
    ("asked", "kinds", "code"),
    [
        (TYPED, ("regressed", "inconclusive", "invalid"), 0),
        (structs.replace(TYPED, fail_on="regression"), ("improved", "regressed"), 3),
        (structs.replace(TYPED, fail_on="regression"), ("improved", "equivalent", "inconclusive", "invalid"), 0),
        (structs.replace(TYPED, require_verdict=True), ("improved", "inconclusive"), 4),
        (structs.replace(TYPED, require_verdict=True), ("improved", "regressed", "equivalent", "invalid"), 0),
        (CAREFUL, ("inconclusive", "regressed"), 3),
        (CAREFUL, ("inconclusive", "equivalent"), 4),
        (CAREFUL, ("improved", "equivalent"), 0),
    ],
)
def test_exit_codes_that_were_asked_for(asked: Options, kinds: tuple[VerdictKind, ...], code: int) -> None:
    view = view_of(finished(), "run")
    rows = tuple(structs.replace(row, kind=kind) for row, kind in zip(view.rows, kinds, strict=False))
    assert _exit_code(asked, structs.replace(view, rows=rows)) == code
