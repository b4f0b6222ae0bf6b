from phpdyno.model.tune import Confirmed, Ratio
from phpdyno.tuning.factors import Candidate
from phpdyno.workflows.tune_loaded import best_of_each
from tests.support.tunes import confirmed

TCP = Candidate("tcp", {"web.socket": "tcp"})
TWO, FOUR = (Candidate(f"{number} workers", {"pool.pm.max_children": number}) for number in ("2", "4"))


def better(candidate: Candidate, ratio: float) -> Confirmed:
    return confirmed(candidate.name, settings=candidate.settings, ratio=Ratio(ratio, ratio - 0.01, ratio + 0.01, 9))


def test_the_best_of_each_factor_go_together() -> None:
    joint = best_of_each([TCP, TWO, FOUR], [better(FOUR, 1.2), better(TWO, 1.1), better(TCP, 1.05)])
    assert joint is not None
    assert joint.name == "4 workers + tcp"
    assert joint.settings == {"pool.pm.max_children": "4", "web.socket": "tcp"}


def test_what_helped_of_one_factor_needs_no_second_comparison() -> None:
    assert best_of_each([TCP, TWO, FOUR], [better(FOUR, 1.2), better(TWO, 1.1)]) is None
    assert best_of_each([TCP, TWO], [better(TCP, 1.1)]) is None
