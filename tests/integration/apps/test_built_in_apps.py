"""The built-in apps that are made of Debian's packages: really downloaded, prepared, served and
compared."""

import functools
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from phpdyno.answers.answer import Answer
from phpdyno.answers.check import expect
from phpdyno.apps.built_in import mediawiki, symfony_hello, wordpress
from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.drive.driver import failures
from phpdyno.experiment.common.answer_check import AnswerCheck
from phpdyno.journal.records import Answers
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.apps import ask, check_read_only, fetch, need_packages, on_the_bench, served, written
from tests.support.real.command import FEWEST, phpdyno, records_of, row
from tests.support.session.outside import host_network

pytestmark = [pytest.mark.integration, pytest.mark.slow]

APPS = {"symfony-hello": symfony_hello, "mediawiki": mediawiki, "wordpress": wordpress}
NAMES = [pytest.param(name, marks=pytest.mark.long if name == "mediawiki" else ()) for name in APPS]
BUDGETS = {"symfony-hello": "30s", "mediawiki": "90s", "wordpress": "40s"}
"""Several times what the fewest blocks take: a start of mediawiki with its warm-up takes
seconds."""
LEAST_BYTES = {"symfony-hello": 130, "mediawiki": 15_000, "wordpress": 20_000}
SETTINGS = [
    pytest.param(name, setting, value, marks=pytest.mark.long if name == "mediawiki" else ())
    for name, module in APPS.items()
    for setting, offered in module.SETTINGS.items()
    for value in offered.values
    if value != offered.default
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Callable[[str], list[str]]:
    """Puts an app into the cache, once; what was told of it."""

    @functools.cache
    def first(name: str) -> list[str]:
        need_packages(APPS[name].PACKAGES)
        told: list[str] = []
        with host_network(), Supervisor(tmp_path_factory.mktemp("first")) as supervisor:
            open_app(name).prepare(supervisor, cache=cache, progress=told.append)
        return told

    return first


@pytest.fixture
def downloaded(name: str, download: Callable[[str], list[str]]) -> list[str]:
    """What was told when the app of a test was downloaded."""
    return download(name)


@pytest.fixture(scope="module")
def answers_of(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Callable[..., list[list[Answer]]]:
    """The targets' answers, several times, of a copy that served each once before; nothing of it
    may be written after that.

    The `number` tells copies with the same environment apart; one that was asked already is not
    asked again.
    """

    @functools.cache
    def ask_copy(name: str, number: int = 1, times: int = 3, **env: str) -> list[list[Answer]]:
        with Supervisor(tmp_path_factory.mktemp("logs")) as supervisor:
            app = open_app(name).prepare(supervisor, cache=cache, progress=silent)
            check_read_only(app.docroot)
            with served(supervisor, app, env) as (port, database):
                fetch(port, app)
                before = written(supervisor.live / "app"), statements(supervisor, database)
                answers = [fetch(port, app) for _ in range(times)]
                assert env or (written(supervisor.live / "app"), statements(supervisor, database)) == before
        return answers

    return ask_copy


def statements(supervisor: Supervisor, database: Database | None) -> str:
    """The server's counters of statements that write; '' for an app without one."""
    if database is None:
        return ""
    names = "'Com_insert','Com_update','Com_delete','Com_replace','Com_insert_select','Com_update_multi'"
    query = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"
    child = supervisor.run("status", [find_program("mariadb"), "--no-defaults", f"--socket={database.socket}", "-e", query])
    assert child.status == 0, child.tail()
    text = child.log.read_text()
    child.log.unlink()
    return text


@pytest.mark.parametrize("name", NAMES)
def test_downloaded_once_then_only_copied(tmp_path: Path, cache: Path, name: str, downloaded: list[str]) -> None:
    told = [*downloaded]
    with Supervisor(tmp_path / "second") as supervisor:
        app = open_app(name).prepare(supervisor, cache=cache, progress=told.append)
        assert app.settings == open_app(name).settings
        assert all(app.env[setting.env] == setting.default for setting in app.settings.values())
    with Supervisor(tmp_path / "third") as supervisor:
        assert open_app(name).version(supervisor, cache=cache, progress=told.append) == app.version
        assert not (supervisor.live / "app").exists()

    assert [line.split()[0] for line in told if "downloading" in line or "copying" in line] == ["downloading", "copying", "copying"]


@pytest.mark.usefixtures("downloaded")
@pytest.mark.parametrize("name", NAMES)
def test_two_copies_answer_equally_and_write_nothing(name: str, answers_of: Callable[..., list[list[Answer]]]) -> None:
    first, second = answers_of(name), answers_of(name, number=2)

    expectation = expect(APPS[name].TARGETS, list(zip(*first, strict=True)))
    for answers in second:
        assert expectation.compare(answers).equal, expectation.compare(answers).detail
    assert [answer.status for answer in second[0]] == [200] * len(APPS[name].TARGETS)
    assert min(len(answer.body) for answer in second[0]) > LEAST_BYTES[name]
    assert max(mask.masked_fraction for mask in expectation.masks) < 0.02


@pytest.mark.usefixtures("downloaded")
@pytest.mark.parametrize("name", NAMES)
def test_every_target_over_fastcgi(tmp_path: Path, cache: Path, name: str) -> None:
    """Through nginx they are asked by the comparison below."""
    with Supervisor(tmp_path / "logs") as supervisor:
        app = open_app(name).prepare(supervisor, cache=cache, progress=silent)
        with on_the_bench(supervisor, app) as driven:
            rows = AnswerCheck(app.workload).learn(driven)
            for index in range(len(app.workload.targets)):
                assert not failures(driven.driver.drive(np.full(3, index, dtype=np.uint32)))

    assert [(row.path, row.status, row.compared) for row in rows] == [(target.path, 200, "body") for target in app.workload.targets]
    assert min(row.body_bytes for row in rows) > LEAST_BYTES[name]
    assert max(row.masked_fraction for row in rows) < 0.02


@pytest.mark.usefixtures("downloaded")
@pytest.mark.parametrize(("name", "setting", "value"), SETTINGS)
def test_every_value_of_a_setting_answers_equally(
    name: str, setting: str, value: str, answers_of: Callable[..., list[list[Answer]]]
) -> None:
    control = answers_of(name)
    (treatment,) = answers_of(name, times=1, **{APPS[name].SETTINGS[setting].env: value})

    compared = expect(APPS[name].TARGETS, list(zip(*control, strict=True))).compare(treatment)
    assert compared.equal, compared.detail


@pytest.mark.parametrize(("debug", "file"), [("0", "App_KernelProdContainer.php"), ("1", "App_KernelProdDebugContainer.php")])
def test_symfony_uses_the_caches_that_were_made_for_its_mode(
    tmp_path: Path, cache: Path, debug: str, file: str, download: Callable[[str], list[str]]
) -> None:
    download("symfony-hello")
    with Supervisor(tmp_path / "logs") as supervisor:
        app = open_app("symfony-hello").prepare(supervisor, cache=cache, progress=silent)
        caches = supervisor.live / "app/var"
        before = written(caches)
        with served(supervisor, app, {"APP_DEBUG": debug}) as (port, _):
            answers = fetch(port, app)
            missing = ask(port, app, "/parts/nothing")
        assert written(caches) == before
        assert [path.name for path in caches.rglob(file) if path.parent.parent.name == "cache"] == [file]

    assert b"Hello, world!" in answers[0].body
    assert missing.status == 404
    assert (b"There is no part nothing" in missing.body) == (debug == "1")


@pytest.mark.usefixtures("downloaded")
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name != "wordpress" else ()) for name in APPS])
def test_compared_with_itself_by_the_real_command(tmp_path: Path, cache: Path, name: str) -> None:
    runs = tmp_path / "runs"
    env = {**os.environ, "PHPDYNO_CACHE": str(cache)}
    load = ("--aa", *FEWEST, "--budget", BUDGETS[name])
    answer = phpdyno("compare", name, *load, "--runs", runs, "--json", timeout_s=400, env=env)

    assert answer.returncode == 0, answer.stderr
    assert row(answer, "A/A")["kind"] != "invalid", row(answer, "A/A")["reason"]
    checked = [record for record in records_of(runs) if isinstance(record, Answers)]
    assert checked
    for record in checked:
        assert record.equal, record.detail
        assert [(target.path, target.status) for target in record.targets] == [(target.path, 200) for target in APPS[name].TARGETS]
        assert min(target.body_bytes for target in record.targets) > LEAST_BYTES[name]
        assert {target.compared for target in record.targets} == {"body"}
        assert max(target.masked_fraction for target in record.targets) < 0.02
