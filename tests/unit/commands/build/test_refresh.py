"""Builds made anew for what the installed PHP is now: which of them, and on which apps."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.build import refresh as workflow
from phpdyno.commands.build.builder import Trainee
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.arm import PhpBuild
from phpdyno.model.build import Build, Lesson, Teaching
from phpdyno.model.recipe import Recipe
from phpdyno.php_build.source import installed
from phpdyno.php_build.train.training import TrainingLength
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.builds import BUILD

TEACHING = Teaching("wordpress", "6.1", (("/", 1.0),), 30.0, 500, 7, "wordpress", weight=3.0)
O2 = structs.replace(BUILD, name="o2-1", recipe=parse_recipe("o2"), examined=(TEACHING,))
PGO = structs.replace(BUILD, lessons=(Lesson(TEACHING, 1500, {"/": 1500}, 420),), examined=(TEACHING,))


FORGOTTEN = "/logs/old.log"


class FakeSite:
    """Notes what it is asked to build."""

    def __init__(self) -> None:
        self.foundations: list[SourceRequest] = []
        self.courses: list[TrainingLength] = []
        self.made: list[tuple[str, list[str]]] = []
        self.gone = ""
        self.without_bolt = False

    @contextmanager
    def open(self, foundation: SourceRequest, **_: object) -> Iterator["FakeSite"]:
        self.foundations.append(foundation)
        yield self

    def as_before(self, teaching: Teaching) -> Trainee:
        if teaching.requests == FORGOTTEN:
            raise DynoError("what it asked for is not kept", where=teaching.app)
        return Trainee(teaching.reference, teaching.weight, requests=teaching.requests)

    def taught_by(self, trainee: Trainee, training_length: TrainingLength) -> Teaching:
        if trainee.reference == self.gone:
            raise UsageError("there is no such file", where=trainee.reference)
        self.courses.append(training_length)
        return structs.replace(TEACHING, reference=trainee.reference, weight=trainee.weight, requests=trainee.requests)

    def build(self, recipe: Recipe, teachings: Sequence[Teaching], *, title: str) -> tuple[Path, Build]:
        if recipe.bolt and self.without_bolt:
            raise DynoError("BOLT is not installed")
        self.made.append((recipe.name, [f"{each.reference}={each.weight:g}{each.requests}" for each in teachings]))
        return Path("/cache/finished"), BUILD


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> FakeSite:
    found = FakeSite()
    monkeypatch.setattr(workflow, "open_build_session", found.open)
    monkeypatch.setattr(workflow, "inspect_php", lambda fpm: PhpBuild(fpm, "8.2.36"))
    return found


def refreshed(monkeypatch: pytest.MonkeyPatch, *builds: Build, only: str = "") -> list[str]:
    """Why some are not made."""
    progress = FakeProgress()
    monkeypatch.setattr(workflow, "find_fpm", lambda name: f"/usr/sbin/{Path(name).name}")
    monkeypatch.setattr(workflow, "finished_builds", lambda: tuple((Path("/cache"), each) for each in builds))
    monkeypatch.setattr(
        workflow, "named_build", lambda name: next((Path("/cache"), each) for each in builds if name in {each.name, each.recipe.name})
    )
    _, failed = workflow.refresh("php-fpm8.2", only=only, logs=Path("/logs"), progress=progress)
    assert failed == progress.notes
    return failed


def test_each_is_made_once_for_the_apps_that_it_was_examined_on(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    refreshed(monkeypatch, O2, PGO, structs.replace(PGO, name="pgo-2", php_version="8.2.35"))
    assert builder.made == [("o2", ["wordpress=3"]), ("pgo", ["wordpress=3"])]
    assert builder.courses[0] == TrainingLength(30.0, 500, 7)


def test_orders_that_come_to_the_same_build_give_it_once(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    older = structs.replace(O2, examined=(structs.replace(TEACHING, version="6.0"),))
    monkeypatch.setattr(workflow, "find_fpm", lambda _: PGO.like)
    monkeypatch.setattr(workflow, "finished_builds", lambda: tuple((Path("/cache"), each) for each in (older, O2)))
    made, _ = workflow.refresh("php-fpm8.2", logs=Path("/logs"), progress=FakeProgress())
    assert made == [(Path("/cache/finished"), BUILD)]


def test_what_is_made_anew_is_to_be_kept(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    refreshed(monkeypatch, PGO)
    assert [(each.like, each.to_be_kept) for each in builder.foundations] == [("php-fpm8.2", True)]


def test_where_bolt_is_missing_the_others_are_made(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    builder.without_bolt = True
    failed = refreshed(monkeypatch, structs.replace(PGO, name="pgo+bolt-3", recipe=parse_recipe("pgo+bolt")), PGO)
    assert not builder.foundations[0].laid_out
    assert builder.made == [("pgo", ["wordpress=3"])]
    assert failed == ["pgo+bolt is not made anew: BOLT is not installed"]


def test_builds_of_which_less_is_known_are_named(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    of_log = trained_on(FORGOTTEN)
    failed = refreshed(monkeypatch, structs.replace(O2, examined=()), of_log, PGO)
    assert builder.made == [("pgo", ["wordpress=3"])]
    assert failed == [
        "it is not known on which app o2-1 was examined: give it one with --train",
        "pgo is not made anew: wordpress: what it asked for is not kept",
    ]


def test_one_that_was_trained_on_a_log_is_trained_on_what_is_kept_of_it(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    assert not refreshed(monkeypatch, trained_on("/logs/access.log"))
    assert builder.made == [("pgo", ["wordpress=3/logs/access.log"])]


def trained_on(requests: str) -> Build:
    teaching = structs.replace(TEACHING, requests=requests)
    return structs.replace(PGO, examined=(teaching,), lessons=(Lesson(teaching, 1500, {"/": 1500}, 420),))


ALONE = structs.replace(PGO, name="pgo-7", alone=True)
GIVEN = structs.replace(PGO, name="pgo-8", origin=structs.replace(PGO.origin, kind="git"))


def test_what_only_its_builder_can_make_again_is_named_once_it_does_not_fit_any_more(
    monkeypatch: pytest.MonkeyPatch, builder: FakeSite
) -> None:
    assert not refreshed(monkeypatch, ALONE, PGO, GIVEN)
    monkeypatch.setattr(workflow, "inspect_php", lambda fpm: PhpBuild(fpm, "8.2.37"))
    said = ["pgo-7 stands alone: build it again as you did", "pgo-8 is of a source of its own: build it again as you did"]
    assert refreshed(monkeypatch, ALONE, PGO, GIVEN) == said
    assert builder.made == [("pgo", ["wordpress=3"])] * 2
    # Where there are no others, nothing is fetched for them.
    assert refreshed(monkeypatch, ALONE, GIVEN) == said
    assert len(builder.foundations) == 2


def test_so_it_is_once_an_extension_was_installed_that_it_lacks(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    monkeypatch.setattr(installed, "installed_since", lambda _: ("redis.so",))
    assert refreshed(monkeypatch, GIVEN) == ["pgo-8 is of a source of its own: build it again as you did"]


def test_one_of_them_is_made_anew_by_its_name(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    assert not refreshed(monkeypatch, O2, PGO, ALONE, only=O2.name)
    assert not refreshed(monkeypatch, O2, PGO, ALONE, only="o2")
    assert builder.made == [("o2", ["wordpress=3"])] * 2


def test_one_that_is_named_and_cannot_be_made_anew_says_why(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    assert refreshed(monkeypatch, O2, ALONE, only="pgo-7") == ["pgo-7 stands alone: build it again as you did"]
    with pytest.raises(UsageError, match="pgo-9: this build is for measuring only: it was made beside another PHP"):
        refreshed(monkeypatch, O2, structs.replace(PGO, name="pgo-9", measuring_only=True), only="pgo-9")
    assert not builder.foundations


def test_one_whose_app_is_gone_is_noted_and_the_others_are_made(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    builder.gone = "/srv/shop/app.toml"
    gone = structs.replace(O2, examined=(structs.replace(TEACHING, reference=builder.gone),))
    monkeypatch.setattr(workflow, "find_fpm", lambda _: PGO.like)
    monkeypatch.setattr(workflow, "finished_builds", lambda: tuple((Path("/cache"), each) for each in (gone, PGO)))
    progress = FakeProgress()
    made, failed = workflow.refresh("php-fpm8.2", logs=Path("/logs"), progress=progress)
    assert builder.made == [("pgo", ["wordpress=3"])]
    assert made == [(Path("/cache/finished"), BUILD)]
    assert failed == progress.notes == ["o2 is not made anew: /srv/shop/app.toml: there is no such file"]


@pytest.mark.parametrize(
    "other",
    [
        structs.replace(PGO, measuring_only=True),
        structs.replace(PGO, alone=True),
        structs.replace(PGO, like="/usr/sbin/php-fpm8.4"),
    ],
)
def test_others_are_none_to_be_made_anew(monkeypatch: pytest.MonkeyPatch, builder: FakeSite, other: Build) -> None:
    with pytest.raises(UsageError, match=r"there is no build that stood in for /usr/sbin/php-fpm8.2; name its php-fpm with --like"):
        refreshed(monkeypatch, other)
    assert not builder.foundations


def test_recipes_that_were_made_for_another_php_fpm_are_left_to_it(monkeypatch: pytest.MonkeyPatch, builder: FakeSite) -> None:
    refreshed(monkeypatch, structs.replace(O2, like="/usr/sbin/php-fpm8.4"), PGO)
    assert builder.made == [("pgo", ["wordpress=3"])]
