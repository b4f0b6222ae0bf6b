"""A matrix goes on with the builds and the host that it began with; comparisons are replaced by a
fake here."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from phpdyno.commands.compare import run as comparing
from phpdyno.commands.matrix import run as workflow
from phpdyno.errors import BudgetTooSmall, DynoError, Interrupted, UsageError
from phpdyno.journal.matrix import MatrixRecord, read_matrix, write_matrix
from phpdyno.journal.reader import FILE
from phpdyno.journal.study import Provenance
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import PhpBuild
from phpdyno.model.build import Binary, Build
from phpdyno.model.workload import Target, Workload
from phpdyno.php_build.train.requests import traffic_digest
from phpdyno.php_build.workshop import write_build
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.journals import CONTROL, JIT, opening, plan
from tests.support.made_up.journals import blocks as measured
from tests.support.made_up.ladders import TEACHING, matrix_record

PROVENANCE = Provenance("c0de", {"kernel": "6.1"}, {"nginx": "1.22.1"})


class FakeHost:
    """A cache of builds, a source, and comparisons that end at once."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.ground = PROVENANCE
        self.compared: list[str] = []
        self.origins: list[tuple[str, ...]] = []
        self.budgets: list[float] = []
        self.fails: dict[str, BaseException] = {}
        self.app = SimpleNamespace(name="hello", version="6.1", workload=Workload((Target("/"),)))

    def keep(self, build: Build) -> None:
        place = self.cache / "builds" / "finished" / build.name
        place.mkdir(parents=True, exist_ok=True)
        write_build(place, build)

    def read_provenance(self, builds: Iterable[PhpBuild]) -> Provenance:
        assert len(list(builds)) == 2
        return self.ground

    def compare_in(self, question: Any, place: Path, *, origin: Sequence[str], accept: Callable[[Any], None], **_: object) -> None:
        accept(self.app)
        self.compared.append(place.name)
        self.origins.append(tuple(origin))
        self.budgets.append(question.budget_s)
        if place.name in self.fails:
            raise self.fails[place.name]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    """On which all builds of the matrix lie."""
    made = FakeHost(tmp_path / "cache")
    monkeypatch.setenv("PHPDYNO_CACHE", str(made.cache))
    monkeypatch.setattr(workflow, "make_arms", lambda *_, **__: SimpleNamespace(control=CONTROL, treatments=(JIT,)))
    monkeypatch.setattr(workflow, "read_provenance", made.read_provenance)
    monkeypatch.setattr(workflow, "compare_in", made.compare_in)
    for each in matrix_record().builds.values():
        made.keep(each)
    return made


def begun(run: Path, **changes: object) -> MatrixRecord:
    """A matrix whose first app is measured."""
    whole = matrix_record()
    record = structs.replace(whole, apps=(whole.apps[0], structs.replace(whole.apps[1], state="open")), ground=PROVENANCE)
    run.mkdir()
    write_matrix(run, structs.replace(record, **changes))
    return record


def resumed(run: Path, budget_s: float | None = None) -> MatrixRecord:
    workflow.resume_matrix(run, argv=(), progress=FakeProgress(), budget_s=budget_s)
    return read_matrix(run)


def test_what_is_not_done_is_measured(tmp_path: Path, host: FakeHost) -> None:
    begun(tmp_path / "run")
    assert {each.state for each in resumed(tmp_path / "run").apps} == {"done"}
    assert host.compared == ["hello"]
    assert host.origins == [read_matrix(tmp_path / "run").argv]
    with pytest.raises(UsageError, match="this matrix is finished"):
        resumed(tmp_path / "run")


def test_other_binaries_of_the_same_name_are_not_measured_beside_the_others(tmp_path: Path, host: FakeHost) -> None:
    record = begun(tmp_path / "run")
    other = structs.replace(record.builds[record.plain], binaries=(Binary("php-cgi", "c0de", "", 4000), Binary("php-fpm", "beef", "")))
    host.keep(other)
    with pytest.raises(DynoError, match=f"{record.plain}: this build is not the one that the matrix began with; start a new one"):
        resumed(tmp_path / "run")
    (host.cache / "builds" / "finished" / other.name / "build.json").unlink()
    with pytest.raises(UsageError, match=f"there is no build '{record.plain}'"):
        resumed(tmp_path / "run")
    assert host.compared == []


@pytest.mark.parametrize(
    ("provenance", "said"),
    [
        (structs.replace(PROVENANCE, host={"kernel": "6.2"}), r"parts of the matrix were measured on: kernel 6\.1, now 6\.2"),
        (structs.replace(PROVENANCE, code="beef"), r"measuring code c0de \(0\.1\.0\), now beef; start a new matrix"),
    ],
)
def test_comparisons_on_something_else_are_not_added(tmp_path: Path, host: FakeHost, provenance: Provenance, said: str) -> None:
    begun(tmp_path / "run")
    host.ground = provenance
    with pytest.raises(UsageError, match=said):
        resumed(tmp_path / "run")
    assert host.compared == []


def test_a_matrix_that_does_not_say_on_what_it_was_measured_is_not_gone_on_with(tmp_path: Path, host: FakeHost) -> None:
    begun(tmp_path / "run", ground=None)
    with pytest.raises(UsageError, match="this matrix does not say what parts of it were measured on"):
        resumed(tmp_path / "run")


def keep_comparison(place: Path, *, blocks: int) -> None:
    made = plan(JIT)
    place.mkdir(parents=True)
    with JournalWriter(place / FILE) as journal:
        for record in (*opening(made), *measured({JIT.name: 1.05}, blocks)):
            journal.append(record)


@pytest.mark.parametrize("blocks", [0, 3])
def test_a_comparison_of_which_blocks_are_measured_binds_as_one_that_is_done(tmp_path: Path, host: FakeHost, blocks: int) -> None:
    apps = tuple(structs.replace(each, state="failed") for each in matrix_record().apps)
    begun(tmp_path / "run", apps=apps)
    keep_comparison(tmp_path / "run" / "wordpress" / "20260101-compare-wordpress", blocks=blocks)
    host.ground = structs.replace(PROVENANCE, host={"kernel": "6.2"})
    if blocks:
        with pytest.raises(UsageError, match=r"not what parts of the matrix were measured on: kernel 6\.1, now 6\.2"):
            resumed(tmp_path / "run")
    else:
        assert resumed(tmp_path / "run").ground == host.ground


def test_a_budget_that_was_too_small_is_said_and_can_be_raised(tmp_path: Path, host: FakeHost) -> None:
    begun(tmp_path / "run")
    host.fails = {"hello": BudgetTooSmall("no interval can become finite", budget_s=600.0, enough_s=840)}
    (_, app) = resumed(tmp_path / "run").apps
    assert app.state == "failed"
    assert app.detail == (
        "no interval can become finite; go on with a larger one for what is not measured: --resume with --budget 840s at least"
    )
    # It is remembered when that is interrupted, and what was said is not.
    host.fails = {"hello": KeyboardInterrupt()}
    with pytest.raises(Interrupted):
        resumed(tmp_path / "run", 840.0)
    (_, app) = read_matrix(tmp_path / "run").apps
    assert (app.state, app.detail) == ("open", "")
    host.fails = {}
    assert {each.state for each in resumed(tmp_path / "run").apps} == {"done"}
    assert host.budgets == [600.0, 840.0, 840.0]


@pytest.mark.parametrize("changed", [{"version": "6.2"}, {"workload": Workload((Target("/other"),))}])
def test_an_app_that_is_not_what_has_trained_is_not_measured(tmp_path: Path, host: FakeHost, changed: dict[str, object]) -> None:
    record = begun(tmp_path / "run")
    taught = structs.replace(TEACHING, app="hello", traffic=traffic_digest(host.app.workload))
    plain = structs.replace(record.builds[record.plain], examined=(taught,))
    write_matrix(tmp_path / "run", structs.replace(record, builds={**record.builds, plain.name: plain}))
    host.keep(plain)
    host.app = SimpleNamespace(**{**vars(host.app), **changed})
    (_, app) = resumed(tmp_path / "run").apps
    assert (app.state, host.compared) == ("failed", [])
    assert "not the one that the builds were trained on" in app.detail
    host.app = FakeHost(tmp_path).app
    assert {each.state for each in resumed(tmp_path / "run").apps} == {"done"}


def test_before_a_comparison_is_done_anything_may_change(tmp_path: Path, host: FakeHost) -> None:
    apps = tuple(structs.replace(each, state="open") for each in matrix_record().apps)
    begun(tmp_path / "run", apps=apps)
    host.ground = structs.replace(PROVENANCE, code="beef")
    assert resumed(tmp_path / "run").ground == host.ground
    assert host.compared == ["wordpress", "hello"]


def test_a_comparison_keeps_the_command_line_that_began_the_larger_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, object]] = []
    monkeypatch.setattr(comparing, "compare", lambda *_, argv, **__: seen.append(("begun", argv)))
    monkeypatch.setattr(comparing, "resume", lambda *_, argv, **__: seen.append(("gone on with", argv)))
    question: Any = SimpleNamespace()

    def asked() -> None:
        comparing.compare_in(question, tmp_path, origin=("matrix", "hello"), argv=("matrix", "--resume", "x"), progress=FakeProgress())

    asked()
    # One that has a plan only is begun anew: its budget may have been too small.
    keep_comparison(tmp_path / "20260101-compare-x", blocks=0)
    asked()
    keep_comparison(tmp_path / "20260102-compare-x", blocks=1)
    asked()
    assert seen == [("begun", ("matrix", "hello")), ("begun", ("matrix", "hello")), ("gone on with", ("matrix", "--resume", "x"))]
