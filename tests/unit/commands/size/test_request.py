from dataclasses import replace

import pytest

from phpdyno.commands.common.requests import OwnRequests
from phpdyno.commands.size.command import asked_of, with_requests
from phpdyno.commands.size.options import SizeOptions
from phpdyno.commands.size.request import GivenLimits, SizeRequest, check_asked, memory_kib, request_rate, response_time
from phpdyno.errors import UsageError
from phpdyno.model.arrival import Arrival
from phpdyno.model.plan import AppSource
from phpdyno.model.workload import Target, Workload


@pytest.mark.parametrize(("text", "seconds"), [("200ms", 0.2), ("1.5s", 1.5), (" 0.5 ms ", 0.0005)])
def test_a_response_time_in_seconds(text: str, seconds: float) -> None:
    assert response_time(text, option="--p99") == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "per_s"), [("50/s", 50.0), ("3000/min", 50.0), ("3000/m", 50.0), ("50", 50.0), ("7200/h", 2.0)])
def test_a_rate_per_second(text: str, per_s: float) -> None:
    assert request_rate(text, option="--rate") == pytest.approx(per_s)


@pytest.mark.parametrize(("text", "kib"), [("512M", 524_288), ("2G", 2_097_152), ("512MiB", 524_288), ("512MB", 524_288)])
def test_a_size_of_memory_in_kib(text: str, kib: int) -> None:
    assert memory_kib(text, option="--memory") == kib


@pytest.mark.parametrize("text", ["", "200", "fast", "-1ms", "0ms", "200 minutes", "nan ms"])
def test_what_is_no_response_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="no response time") as refused:
        response_time(text, option="--p99")
    assert refused.value.where == "--p99"


@pytest.mark.parametrize("text", ["", "many", "-5/s", "0/s", "50/fortnight", "inf"])
def test_what_is_no_rate_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="no rate"):
        request_rate(text, option="--rate")


@pytest.mark.parametrize("text", ["", "lots", "-1G", "0", "4K", "512 potatoes"])
def test_what_is_no_memory_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="no size of memory"):
        memory_kib(text, option="--memory")


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        (SizeRequest(AppSource("hello"), most=0), "--most"),
        (SizeRequest(AppSource("hello"), most=437), "--most"),
        (SizeRequest(AppSource("hello"), most=100_000, transport="fastcgi"), "--most"),
        (SizeRequest(AppSource("hello"), limits=GivenLimits(cores=0)), "--cores"),
        (SizeRequest(AppSource("hello"), limits=GivenLimits(process_max=-1)), "--process-max"),
        (SizeRequest(AppSource("hello"), limits=GivenLimits(connections=0)), "--max-connections"),
    ],
)
def test_numbers_that_cannot_be_are_refused(asked: SizeRequest, where: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_asked(asked)
    assert refused.value.where == where


def options() -> SizeOptions:
    return SizeOptions(
        reference="hello",
        p99="200ms",
        rate=None,
        memory="512M",
        others=None,
        cores=2,
        process_max=None,
        max_connections=None,
        most=400,
        control="",
        docroot=None,
        urls=(),
        transport="http",
        budget="5m",
        confidence="95%",
        managers=True,
        seed=1,
    )


def test_options_become_what_is_asked() -> None:
    asked = asked_of(options())
    assert asked.objective.p99_s == pytest.approx(0.2)
    assert asked.objective.rate_per_s is None
    assert asked.limits == GivenLimits(memory_kib=524_288, cores=2)
    assert asked.budget_s == 300.0


def test_the_busiest_minute_of_a_log_is_the_rate_unless_one_is_named() -> None:
    arrival = Arrival(2.0, 3600, 40, busiest_minute_per_s=12.5)
    own = OwnRequests(Workload((Target("/shop"),)), "/var/log/access.log", arrival)
    asked = with_requests(asked_of(options()), own)
    assert asked.objective.rate_per_s == 12.5
    assert asked.objective.rate_from == "the busiest minute of access.log"
    assert asked.workload == own.workload
    named = with_requests(asked_of(replace(options(), rate="7/s")), own)
    assert (named.objective.rate_per_s, named.objective.rate_from) == (7.0, "--rate")


def test_a_log_too_short_for_a_minute_gives_its_mean() -> None:
    own = OwnRequests(Workload((Target("/"),)), "/tmp/short.log", Arrival(3.0, 20, 9))
    assert with_requests(asked_of(options()), own).objective.rate_from == "the mean of short.log"
