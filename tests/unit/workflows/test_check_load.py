"""What a load asks of pools and of this process, said before anything starts."""

import resource

import pytest
from msgspec import structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import AppSource
from phpdyno.workflows.arms import Arms
from phpdyno.workflows.compare import Question, check_load

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0")
QUESTION = Question(AppSource(reference="hello"), transport="fastcgi", concurrency=4, keep_conn=True)


def arm(name: str, workers: int) -> Arm:
    return Arm(name, PHP, {"pool.pm.max_children": str(workers)})


def arms(control: int = 4, treatment: int = 4, loaded: int = 1) -> Arms:
    return Arms(arm("control", control), arm("control, loaded", loaded), (arm("t", treatment),), {"t": "cpu"})


def test_pools_with_enough_workers() -> None:
    check_load(QUESTION, arms())
    check_load(structs.replace(QUESTION, keep_conn=False), arms(1, 1))


@pytest.mark.parametrize(("control", "treatment", "blamed"), [(3, 4, "control"), (4, 3, "t")])
def test_any_pool_with_too_few_is_named(control: int, treatment: int, blamed: str) -> None:
    with pytest.raises(UsageError, match=f"{blamed}: a kept connection occupies its worker: 4 in flight"):
        check_load(QUESTION, arms(control, treatment))


def test_the_loaded_control_counts_where_throughput_is_judged() -> None:
    with pytest.raises(UsageError, match="control, loaded: "):
        check_load(QUESTION, structs.replace(arms(), metrics={"t": "throughput"}))


@pytest.mark.parametrize("transport", ["http", "script"])
def test_other_transports(transport: str) -> None:
    with pytest.raises(UsageError, match="--keep-conn"):
        check_load(structs.replace(QUESTION, transport=transport), arms())


def test_all_arms_keep_their_connections_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    check_load(structs.replace(QUESTION, transport="http", keep_conn=False, concurrency=100), arms())
    with pytest.raises(DynoError, match="1200 connections need"):
        check_load(structs.replace(QUESTION, transport="http", keep_conn=False, concurrency=600), arms())
