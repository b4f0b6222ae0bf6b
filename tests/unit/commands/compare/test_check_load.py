"""What a load asks of pools and of this process, said before anything starts."""

import os
import resource
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.compare.run import CompareRequest, check_load, make_plan
from phpdyno.commands.tune.session import subject_of
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import APACHE, Arm, PhpBuild
from phpdyno.model.plan import MAX_LAG, MAX_LAG_OF_CPU, AppSource
from phpdyno.model.runs.tune import TuneRequest
from phpdyno.model.workload import Target, Workload
from phpdyno.server_files.nginx import MOST_THROUGH_NGINX
from phpdyno.session.arms import Arms
from phpdyno.session.requirements import loaded_concurrency

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0")
QUESTION = CompareRequest(source=AppSource(reference="hello"), transport="fastcgi", concurrency=4, keep_conn=True)


def arm(name: str, workers: int) -> Arm:
    return Arm(name, PHP, {"pool.pm.max_children": str(workers)})


def arms(control: int = 4, treatment: int = 4, loaded: int = 1) -> Arms:
    return Arms(arm("control", control), arm("control, loaded", loaded), (arm("t", treatment),), {"t": "cpu"})


def test_cpu_has_a_limit_of_lag_of_its_own() -> None:
    made = make_plan(QUESTION, PreparedApp("hello", Path("/srv"), Workload((Target("/"),))), arms())
    assert (made.limits_of("cpu").lag, made.limits_of("throughput").lag) == (MAX_LAG_OF_CPU, MAX_LAG)


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
        check_load(structs.replace(QUESTION, keep_conn=False, concurrency=600), arms())


def test_more_than_nginx_serves_at_once_are_refused_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 16, 1 << 16))
    many = structs.replace(QUESTION, keep_conn=False, concurrency=MOST_THROUGH_NGINX + 1)
    with pytest.raises(UsageError, match="501 requests in flight are over 500, which our nginx serves at once; ask for fewer, or measure"):
        check_load(structs.replace(many, transport="http"), arms())
    with pytest.raises(UsageError, match="1000 requests in flight are over 500"):
        subject_of(TuneRequest(source=AppSource(reference="hello"), loaded_concurrency=1000))
    check_load(many, arms())
    apache = [structs.replace(each, settings={"web.server": APACHE}) for each in (arms().control, arms().treatments[0])]
    check_load(structs.replace(many, transport="http"), structs.replace(arms(), control=apache[0], treatments=(apache[1],)))


def test_a_host_of_many_cores_is_loaded_with_what_nginx_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert loaded_concurrency() == 16
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(256)))
    assert loaded_concurrency() == MOST_THROUGH_NGINX
