"""What an app teaches, and whose servers it is taught on; compiling is replaced by a fake here."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import json, structs

from phpdyno.commands.build import builder as build_site
from phpdyno.commands.build.builder import BuildSession, Trainee
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.build import Build, BuildCheck, Teaching
from phpdyno.model.services.service import Tcp
from phpdyno.model.workload import Target, Workload
from phpdyno.php_build.order import BuildOrder, BuildSource
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.php_build.workshop import DONE, Workshop
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.fakes.fake_study import FakeProgress
from tests.support.fakes.locks import noting_lock
from tests.support.made_up.builds import BUILD
from tests.unit.php_build.test_order import GROUND

PGO = parse_recipe("pgo")
CART = Target("/cart", name="cart", cookies={"session": "{env.SESSION}"})


class FakePipeline:
    """Has everything in its cache."""

    def __init__(self, shop: Workshop, *_: object) -> None:
        self._place = shop.home / "finished" / "c0de"

    def build(self, order: BuildOrder) -> tuple[Path, Build]:
        return self._place, BUILD

    def tested(self, order: BuildOrder, place: Path) -> BuildCheck:
        return BuildCheck("PHP's own tests", ok=True, seen="300 passed")


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> BuildSession:
    """Every app that is opened is called `shop`, and asked for its cart."""
    app = SimpleNamespace(name="shop", version=lambda *_, **__: "1", workload=Workload((CART,)))
    monkeypatch.setenv("PHPDYNO_CACHE", str(tmp_path))
    monkeypatch.setattr(build_site, "open_app", lambda _: app)
    monkeypatch.setattr(build_site, "Supervisor", contextlib.nullcontext)
    monkeypatch.setattr(build_site, "Pipeline", FakePipeline)
    monkeypatch.setattr(build_site, "find_program", lambda name, path: name)
    monkeypatch.setattr(build_site, "told", lambda _: SimpleNamespace(stdout=b"12.2.0"))
    supervisor = cast(Supervisor, SimpleNamespace(logs=tmp_path))
    return BuildSession(Workshop(tmp_path, lambda _: None), supervisor, GROUND, FakeProgress())


def test_nothing_is_measured_while_a_site_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def fake_find(*_: object) -> BuildSource:
        seen.append("looked for a source")
        return GROUND

    monkeypatch.setenv("PHPDYNO_CACHE", str(tmp_path))
    monkeypatch.setattr(build_site, "MeasuringLock", noting_lock(seen, "lock"))
    monkeypatch.setattr(Workshop, "alone", lambda _: noting_lock(seen, "cache")())
    monkeypatch.setattr(build_site, "Supervisor", contextlib.nullcontext)
    monkeypatch.setattr(build_site, "find_source", fake_find)
    with build_site.open_build_session(SourceRequest(), logs=tmp_path, progress=FakeProgress()):
        seen.append("open")
    # Whoever measures may build again: one that waits for the lock must not have the cache.
    assert seen == ["lock held", "cache held", "looked for a source", "open", "cache free", "lock free"]


def taught(builder: BuildSession, target: Target, reference: str = "shop") -> Teaching:
    return builder.taught_by(Trainee(reference, workload=Workload((target,))), TrainingLength())


@pytest.mark.parametrize(
    "other",
    [
        structs.replace(CART, path="/basket"),
        structs.replace(CART, cookies={"session": "none"}),
        structs.replace(CART, headers={"Accept-Language": "de"}),
        structs.replace(CART, method="POST", body="item=1", writes=True),
        structs.replace(CART, status=302),
    ],
)
def test_a_profile_is_of_all_that_is_asked_and_not_of_what_it_is_called(builder: BuildSession, other: Target) -> None:
    def key(teaching: Teaching) -> object:
        return BuildOrder(PGO, GROUND, "12.2.0", (teaching,)).compiled

    first = taught(builder, CART)
    assert taught(builder, CART) == first
    assert taught(builder, other).targets == first.targets
    assert key(taught(builder, other)) != key(first)


def test_requests_of_a_log_are_those_of_a_later_training_too(builder: BuildSession, tmp_path: Path) -> None:
    of_log = builder.taught_by(Trainee("shop", 2.0, Workload((CART,)), "/logs/access.log"), TrainingLength())
    assert builder.as_before(of_log) == Trainee("shop", 2.0, Workload((CART,)), "/logs/access.log")
    assert builder.taught_by(builder.as_before(of_log), TrainingLength()) == of_log
    of_app = builder.taught_by(Trainee("shop", 3.0), TrainingLength())
    assert builder.as_before(of_app) == Trainee("shop", 3.0)
    forgotten = structs.replace(of_log, traffic="c0de")
    with pytest.raises(DynoError, match=r"shop: what /logs/access.log asked for is not kept; build it again with that file"):
        builder.as_before(forgotten)


def test_two_apps_of_one_name_train_no_build(builder: BuildSession) -> None:
    teachings = [taught(builder, CART, reference) for reference in ("a/app.toml", "b/app.toml")]
    for wanted in (teachings, teachings[:1]):
        with pytest.raises(UsageError, match=r"shop: two of these apps have one name; give each its own name in app.toml"):
            builder.build(PGO, wanted)
    # One after the other each has servers of its own.
    assert builder.build(PGO, teachings[1:])[1] == BUILD
    assert builder.build(PGO, [structs.replace(taught(builder, CART, "a/app.toml"), weight=3.0)])[1] == BUILD


def test_what_the_tests_of_php_found_wrong_before_is_known_of_the_build(builder: BuildSession, tmp_path: Path) -> None:
    failed = BuildCheck("PHP's own tests", ok=False, seen="299 passed, 1 failed")
    kept = tmp_path / "builds" / "tested" / "c0de"
    kept.mkdir(parents=True)
    (kept / "tested.json").write_bytes(json.encode(failed))
    assert builder.build(PGO, [taught(builder, CART)])[1].checks == ()
    (kept / DONE).touch()
    assert builder.build(PGO, [taught(builder, CART)])[1].checks == (failed,)
    assert [each.ok for each in builder.build(PGO, [taught(builder, CART)], run_tests=True)[1].checks] == [True]


def test_bolt_is_asked_for_before_anything_is_compiled(builder: BuildSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise DynoError("BOLT is not installed")

    monkeypatch.setattr(build_site, "require_bolt", missing)
    monkeypatch.setattr(FakePipeline, "build", lambda *_: pytest.fail("it is built"))
    with pytest.raises(DynoError, match="BOLT is not installed"):
        builder.build(parse_recipe("pgo+bolt"), [taught(builder, CART)])


def test_a_build_is_called_by_its_title_again_once_its_servers_are_ready(
    builder: BuildSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = FakeProgress()
    made = BuildSession(Workshop(tmp_path, lambda _: None), cast(Supervisor, SimpleNamespace(logs=tmp_path)), GROUND, progress)

    @contextlib.contextmanager
    def stand(*_: object, progress: FakeProgress, version: str, **__: object) -> Iterator[SimpleNamespace]:
        assert version == "1", "what trains is what the profile is kept as"
        progress.phase("copying the shop")
        app = SimpleNamespace(peers=(Tcp("api.example.com", 443),), notices=(), site=None)
        yield SimpleNamespace(bench=SimpleNamespace(supervisor=SimpleNamespace(no_bottle=""), app=app))

    monkeypatch.setattr(build_site, "serving", stand)
    monkeypatch.setattr(build_site, "make_arms", lambda *_, **__: SimpleNamespace(control=None))
    monkeypatch.setattr(build_site, "AppTrainingStack", lambda *_: None)
    made.build(PGO, [taught(made, CART)], title="build 2 of 3: pgo")
    with made._training_stack("shop"):
        pass
    assert progress.phases == ["build 2 of 3: pgo", "copying the shop", "build 2 of 3: pgo"]
    with made._training_stack("shop"):
        pass
    assert progress.notes == ["lets through: api.example.com:443"], "once for all trainings"
    made.build(PGO, [taught(made, CART)])
    assert progress.phases[-1] == "build: pgo"


def test_what_is_built_for_this_machine_is_known_by_it(builder: BuildSession, monkeypatch: pytest.MonkeyPatch) -> None:
    ordered: list[BuildOrder] = []

    def build(_: FakePipeline, order: BuildOrder) -> tuple[Path, Build]:
        ordered.append(order)
        return Path("/cache/finished/c0de"), BUILD

    monkeypatch.setattr(FakePipeline, "build", build)
    monkeypatch.setattr(build_site, "native_machine", lambda: "znver3, 1a2b3c4d")
    for recipe in ("march=native", "march=x86-64-v3"):
        builder.build(parse_recipe(recipe), [taught(builder, CART)])
    assert [each.machine for each in ordered] == ["znver3, 1a2b3c4d", ""]
