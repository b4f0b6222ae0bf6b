from phpdyno.stats.screening.factorial import design_for
from phpdyno.tuning.culprits import culprits, without
from phpdyno.tuning.factors import Candidate, Entry, Factor, factors_of, row_entries

A, B, C, D = (Candidate(name, {name: "1"}) for name in "abcd")
FACTORS = factors_of([A, B, C, D])
ROWS = row_entries(FACTORS, design_for([1] * 4, 7))


def split(*broken: str) -> tuple[list[Entry], list[Entry]]:
    """Rows that work, and rows that have all of these on and do not."""
    failed = [row for row in ROWS if all(name in row.settings for name in broken)]
    return [row for row in ROWS if row not in failed], failed


def test_what_is_not_at_work_is_to_blame_and_nothing_else() -> None:
    works, failed = split("b")
    assert culprits(FACTORS, works, failed, {row.name: ["b"] for row in failed}) == ("b",)


def test_of_two_that_do_not_go_together_the_less_promising_one_is_left_out() -> None:
    works, failed = split("a", "c")
    assert failed
    assert culprits(FACTORS, works, failed, {}) == ("c",)


def test_one_that_breaks_every_row_that_it_is_in() -> None:
    works, failed = split("a")
    assert culprits(FACTORS, works, failed, {}) == ("a",)


def test_nothing_is_to_blame_where_everything_works() -> None:
    assert culprits(FACTORS, ROWS, [], {}) == ()


def test_without_a_level_the_others_of_a_factor_stay() -> None:
    jit = Factor("jit", (Candidate("tracing", {"jit": "tracing"}), Candidate("function", {"jit": "function"})), (A,))
    assert without((jit, *FACTORS), ("tracing", "b")) == (Factor("jit", jit.levels[1:], (A,)), FACTORS[0], *FACTORS[2:])
    assert without(FACTORS, ("a", "b", "c", "d")) == ()
