"""The answer of a run of the lab."""

from msgspec import structs

from phpdyno.commands.connectors.answer import LabRun, connectors_answer, fastest
from phpdyno.commands.connectors.found import DOCUMENT, LabFound, OperationFound, RowFound
from phpdyno.report.answer.shape import MOST_LINES

SYNC = RowFound("own sync unix", 10_000.0)
FIBERS = RowFound("own fibers@128 unix", 200_000.0, ratio=20.0, low=19.0, high=21.0, of_ceiling=0.4)
MOST = RowFound("ceiling window@512 unix", 500_000.0, ratio=50.0)
BROKEN = RowFound("pecl sync unix", None, problem="it answers wrongly")
ENDED = LabRun("finished", "", 150.0, ())
RUN = "runs/20260102-connectors"


def found(*parts: OperationFound, skipped: dict[str, str] | None = None) -> LabFound:
    return LabFound(DOCUMENT, RUN, parts, None, 0.95, skipped or {})


def part(name: str, *rows: RowFound) -> OperationFound:
    return OperationFound(name, rows, finished=True)


def test_of_one_operation_the_clients_are_told_the_fastest_first_and_the_control_last() -> None:
    answer = connectors_answer(found(part("select", SYNC, FIBERS, MOST)), ENDED, RUN)
    assert answer.subject == "Tarantool: select · 2 min 30 s"
    assert answer.result == "own fibers@128 unix is the fastest: 20.00× (19.00 to 21.00) the control's operations/s"
    assert answer.beside[0].startswith("Speed: operations/s over those of own sync unix, the control.")
    assert answer.beside[1] == "Intervals hold together with 95%."
    assert answer.table is not None
    assert [row.cells for row in answer.table.rows] == [
        ("own fibers@128 unix", "200,000", "20.00× (19.00 to 21.00)", "40%"),
        ("ceiling window@512 unix", "500,000", "50× (no interval)", "–"),
        ("own sync unix", "10,000", "control", "–"),
    ]
    assert answer.next == (("Report", f"{RUN}/report.html"),)
    assert answer.lines <= MOST_LINES


def test_of_several_operations_the_fastest_of_each_is_told() -> None:
    answer = connectors_answer(found(part("select", SYNC, FIBERS), part("ping", SYNC, FIBERS)), ENDED, RUN)
    assert answer.result == "own fibers@128 unix is the fastest in all 2 operations"
    assert answer.table is not None
    assert [row.cells[:2] for row in answer.table.rows] == [("select", FIBERS.row), ("ping", FIBERS.row)]
    other = connectors_answer(found(part("select", SYNC, FIBERS), part("ping", SYNC)), ENDED, RUN)
    assert other.result == "2 clients are the fastest, each in other operations"


def test_what_has_no_figure_was_skipped_or_went_wrong_is_told() -> None:
    failing = structs.replace(FIBERS, failed=3)
    answer = connectors_answer(found(part("select", SYNC, failing, BROKEN), skipped={"swoole": "not installed"}), ENDED, RUN)
    assert answer.doubts == ("3 operations had no right answer", "select: pecl sync unix has no figure: it answers wrongly")
    assert answer.notes[-1] == "swoole skipped: not installed"
    assert answer.table is not None
    assert len(answer.table.rows) == 2


def test_one_that_was_cut_short_goes_on_and_a_study_has_its_page() -> None:
    cut = structs.replace(ENDED, outcome="interrupted", detail="by Ctrl-C")
    answer = connectors_answer(found(), cut, RUN, "page.md")
    assert (answer.result, answer.standing, answer.table) == ("none yet: interrupted, by Ctrl-C", "open", None)
    assert answer.next == (
        ("Go on", f"phpdyno connectors --resume {RUN}"),
        ("Report", f"{RUN}/report.html"),
        ("Page", "page.md"),
    )


def test_the_ceiling_is_no_client() -> None:
    assert fastest(part("select", MOST)) is None
    assert fastest(part("select", SYNC, MOST)) == SYNC


def test_without_an_interval_nothing_is_called_the_fastest() -> None:
    unsure = structs.replace(FIBERS, low=None, high=None)
    answer = connectors_answer(found(part("select", SYNC, unsure)), ENDED, RUN)
    assert answer.result == "highest so far: own fibers@128 unix, about 20 times the control's operations/s"
    assert answer.beside[1] == "No interval yet: a longer --budget gives them."
    both = connectors_answer(found(part("select", SYNC, FIBERS), part("ping", SYNC, unsure)), ENDED, RUN)
    assert both.result == "highest so far in all 2 operations: own fibers@128 unix"
    other = structs.replace(unsure, row="own pipeline@16 unix")
    each = connectors_answer(found(part("select", SYNC, FIBERS), part("ping", SYNC, other)), ENDED, RUN)
    assert each.result == "highest so far: 2 clients, each in other operations"
