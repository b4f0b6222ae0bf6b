"""What is claimed beside what was found."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.compare.view.shape import Ratio
from phpdyno.commands.study.view.claims import claims_of, effect, in_one_sentence
from phpdyno.commands.study.view.shape import ContrastFigures, StudyView
from phpdyno.commands.study.view.whole import study_view
from phpdyno.model.plan import Metric
from phpdyno.model.runs.study import Side
from tests.support.made_up.studies import journals_of, record_of, small_study


@pytest.fixture
def view(tmp_path: Path) -> StudyView:
    study = small_study(tmp_path)
    return study_view(record_of(study), journals_of(study))


def contrast(
    title: str, ratio: float | None, *, app: str = "shop", metric: Metric = "throughput", side: Side | None = None
) -> ContrastFigures:
    ours = None if ratio is None else Ratio(ratio, ratio * 0.98, ratio * 1.02)
    return ContrastFigures(title, app, metric, ours, None if side is None else 1.529, side)


def held(view: StudyView, *contrasts: ContrastFigures) -> StudyView:
    return structs.replace(view, contrasts=contrasts)


def test_a_question_has_the_claim_what_was_found_and_why_it_differs(view: StudyView) -> None:
    first, second = claims_of(view)
    assert (first.question, first.claimed, first.sides) == ("opcache on against off", "10.5×", ("smaller",))
    assert first.here[0].startswith("10.05× (")
    assert first.why == ("Ours is smaller.",)
    assert (second.claimed, second.here, second.why) == ("–", ("–",), ())


def test_small_effects_are_percent_and_with_a_large_one_all_are_factors(view: StudyView) -> None:
    small = held(view, contrast("socket", 1.05, side="smaller"), contrast("preload", 0.97))
    assert [(each.claimed, each.here) for each in claims_of(small)] == [
        ("+53 %", ("+5.0 % (+2.9 to +7.1)",)),
        ("–", ("−3.0 % (−4.9 to −1.1)",)),
    ]
    mixed = held(view, contrast("socket", 1.05, side="smaller"), contrast("opcache", 15.0, side="larger"))
    assert [(each.claimed, each.here) for each in claims_of(mixed)] == [
        ("1.529×", ("1.050× (1.029 to 1.071)",)),
        ("1.529×", ("15.00× (14.70 to 15.30)",)),
    ]
    assert effect(6.09, "throughput", times=True) == "6.09×"
    assert (effect(1.067, "throughput", times=False), effect(1.1, "cpu", times=False)) == ("+6.7 %", "−9.1 %")


def test_without_throughput_it_is_the_cpu_that_is_told(view: StudyView) -> None:
    (found,) = claims_of(held(view, contrast("bolt", 1.1, metric="cpu")))
    assert found.here == ("−9.1 % (−10.9 to −7.2)",)
    both = held(view, contrast("bolt", 1.1, metric="cpu"), contrast("bolt", 1.2))
    assert [(each.here, each.cpu) for each in claims_of(both)] == [(("+20.0 % (+17.6 to +22.4)",), ("−9.1 % (−10.9 to −7.2)",))]


def test_several_apps_are_named(view: StudyView) -> None:
    (found,) = claims_of(held(view, contrast("socket", 3.0), contrast("socket", 4.0, app="blog")))
    assert [each.partition(" ")[0] for each in found.here] == ["shop", "blog"]


def test_the_answer_counts_where_ours_lies(view: StudyView) -> None:
    assert in_one_sentence(view) == "the one effect that the reference gives is smaller here"
    several = held(view, *(contrast(str(at), 3.0, side=side) for at, side in enumerate(("alike", "larger", "larger", "smaller"))))  # type: ignore[arg-type]
    assert in_one_sentence(several) == (
        "of 4 effects that the reference gives, 1 lies within our interval, 2 are larger here, 1 is smaller here"
    )
    assert in_one_sentence(held(view, contrast("a", 3.0), contrast("b", None))) == "1 of 2 questions decided"
    assert in_one_sentence(held(view, contrast("a", 3.0), contrast("b", 1.0))) == "1 of 2 questions decided, 1 not decided"
    assert in_one_sentence(held(view)) == ""
