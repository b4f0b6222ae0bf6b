"""What is typed after `phpdyno measure` as a question, and one clear line for what cannot be."""

from dataclasses import replace
from pathlib import Path

import pytest

from phpdyno.commands.common.options import RequestOptions
from phpdyno.commands.measure.command import MOST_ARMS, asked_points, question_of, refuse_another_plan
from phpdyno.commands.measure.options import MeasureOptions
from phpdyno.errors import UsageError
from phpdyno.model.runs.sweep import Point, points_of

TYPED = MeasureOptions(
    reference="hello",
    control="pool.pm.max_children=10",
    docroot=None,
    urls=(),
    transport="http",
    concurrency="5,1, 3",
    open_share="70%",
    arrivals="poisson",
    budget="2m",
    confidence="95%",
    seed=3,
    requests=RequestOptions(),
    cross_check=True,
    keep_conn=False,
    runs=Path("runs"),
    resume=None,
    json=False,
)


def test_what_is_typed_is_asked() -> None:
    asked = question_of(TYPED)
    assert asked.source.reference == "hello"
    assert asked.control == "pool.pm.max_children=10"
    assert asked.points == (Point(1), Point(3), Point(5), Point(100, 0.7))
    assert (asked.budget_s, asked.confidence, asked.seed, asked.transport, asked.cross_check) == (120.0, 0.95, 3, "http", True)
    assert asked.workload is None
    assert (asked.others, asked.most_budget_s) == ((), 0.0)


def test_a_budget_that_was_not_given_may_grow() -> None:
    asked = question_of(replace(TYPED, budget=None))
    assert (asked.budget_s, asked.most_budget_s) == (300.0, 1200.0)


def test_further_arms_are_asked_in_their_order() -> None:
    assert question_of(replace(TYPED, arms=("pool.pm.max_children=20", ""))).others == ("pool.pm.max_children=20", "")


def test_a_sweep_that_is_resumed_takes_no_other_plan() -> None:
    bare = replace(TYPED, control="", budget=None, resume=Path("runs/1"))
    refuse_another_plan(bare)
    for name, changed in (
        ("--budget", replace(bare, budget="9m")),
        ("--control", replace(bare, control="live")),
        ("--arm", replace(bare, arms=("",))),
    ):
        with pytest.raises(UsageError, match=f"--resume with {name}: a run that is resumed keeps its plan"):
            refuse_another_plan(changed)


def test_kept_connections_are_as_many_as_the_largest_closed_load_has() -> None:
    kept = replace(TYPED, transport="fastcgi", keep_conn=True, cross_check=False)
    assert question_of(kept).points == (Point(1), Point(3), Point(5), Point(5, 0.7))


def test_a_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert question_of(replace(TYPED, reference="app.toml")).source.reference == str(tmp_path / "app.toml")
    assert question_of(replace(TYPED, reference="", docroot=Path("site"))).source.docroot == str(tmp_path / "site")


def test_without_an_open_loop() -> None:
    assert asked_points("1,10", None) == (Point(1), Point(10))


def test_an_open_loop_has_at_least_a_hundred_connections() -> None:
    assert points_of((5, 1), 0.5)[-1] == Point(100, 0.5)
    assert points_of((200,), 0.5)[-1] == Point(200, 0.5)
    assert points_of((5, 1), 0.5, kept=True)[-1] == Point(5, 0.5)


@pytest.mark.parametrize(
    ("concurrency", "said"),
    [
        ("", "--concurrency : '' is no number of requests in flight; write for example 1,3,5,10"),
        ("1,,3", "'' is no number"),
        ("1;3", "'1;3' is no number"),
        ("ten", "'ten' is no number"),
        ("1.5", "'1.5' is no number"),
        ("-1", "'-1' is no number"),
        ("²", "'²' is no number"),
        ("9" * 5000, "is no number"),
        ("0", "0 is not from 1 to 1000"),
        ("1,1001", "1001 is not from 1 to 1000"),
        ("1,3,1", "--concurrency 1,3,1: 1 is named twice; keep one of the two"),
        (",".join(str(each) for each in range(1, 22)), "21 points are more than 20"),
    ],
)
def test_loads_that_cannot_be(concurrency: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        asked_points(concurrency, None)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (replace(TYPED, open_share="0"), "--open-share"),
        (replace(TYPED, open_share="most"), "--open-share: 'most' is not a share"),
        (replace(TYPED, open_share="nan"), "--open-share: 'nan' is not a share"),
        (replace(TYPED, open_share="200%"), "--open-share: '200%' is not a share"),
        (replace(TYPED, budget="soon"), "--budget: 'soon' is not a duration"),
        (replace(TYPED, budget="0s"), "--budget: '0s' is not a duration"),
        (replace(TYPED, confidence="20%"), "--confidence: '20%' is not a share"),
        (replace(TYPED, seed=-1), "--seed: a seed is a whole number from 0 on"),
        (replace(TYPED, arms=("",) * MOST_ARMS), "--arm: 11 arms are more than 10; name fewer"),
    ],
)
def test_options_that_cannot_be(changed: MeasureOptions, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        question_of(changed)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
