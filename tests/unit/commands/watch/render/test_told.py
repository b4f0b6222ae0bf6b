"""What is watched, as words, lines of JSON, metrics and over HTTP."""

import http.client
import json
from pathlib import Path

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from phpdyno.commands.watch import view
from phpdyno.commands.watch.found import Advice, Event, Limit, StuckWorker
from phpdyno.commands.watch.render import serving
from phpdyno.commands.watch.render.metrics import OF_A_POOL, PoolMetrics, labels_of, metrics_table
from phpdyno.commands.watch.render.recording import Recorder, read_recorded
from phpdyno.commands.watch.render.serving import Served, parse_address
from phpdyno.errors import UsageError
from tests.support.made_up.moments import AT, host, pool

ADVICE = Advice(
    pool="www", master=100, low=4, high=8, confidence="medium", why_confidence="less than a day was seen", reasons=("of that",),
    warnings=("mind this",), limits={"nothing": 0.9, "cores": 0.1}, watched_s=7300.0, requests=12345,
)  # fmt: skip
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture(autouse=True)
def ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "POLL_S", 0.01)


def test_a_pool_as_a_line() -> None:
    line = view.line(pool(), (pool(),))
    assert line.partition(" ")[2] == (
        "www: 2.0 busy of 5 (at most 3, 5 there); queue 0.0 (at most 0 of 511); 40.0 req/s; "
        "CPU 0.40 cores, run queue 0.10, waits 1.50 (75% of busy); 26.0 MiB a worker; limit: nothing"
    )


def test_what_is_not_known_is_a_dash_and_no_zero() -> None:
    unknown = pool(active=None, most_active=None, max_children=None, total=None, queue=None, requests_per_s=None, worker_pss_kib=None,
                   blocked_cores=None, pool_pss_kib=None, limit=Limit(kind="unknown"))  # fmt: skip
    assert view.row(unknown, (unknown,)) == ("www", "–/?", "–", "–", "0.40", "–", "–", "unknown")
    lines = dict(view.block(unknown, (unknown,)))
    assert lines["  workers"] == "– busy (at most –)"
    assert lines["  requests"] == "–/s, queue unknown"
    assert lines["  memory"] == "unknown"


def test_a_block_fits_eighty_columns() -> None:
    stuck = (StuckWorker(pid=4711, age_s=3700.0, waits_on="recvfrom on 10.0.0.5:3306"),)
    busy = pool(stuck=stuck, max_children_reached=12, max_children=120, memory_limit_kib=512 << 10, memory_used_kib=300 << 10, overflows=3)
    lines = list(view.block(busy, (busy,)))
    assert all(len(name.ljust(11)) + 1 + len(words) <= 80 for name, words in lines), lines
    assert ("  stuck", "process 4711 for 1 h 1 min: recvfrom on 10.0.0.5:3306") in lines


def test_pools_of_one_name_are_told_apart() -> None:
    both = (pool(), pool(master=200))
    assert [view.name_of(each, both) for each in both] == ["100:www", "200:www"]


def test_the_summary_begins_with_the_number() -> None:
    assert list(view.advice(ADVICE)) == [
        "www (master 100): 4 to 8 workers, confidence medium (watched for 2 h 1 min, 12,345 requests)",
        "  confidence: less than a day was seen",
        "  because of that",
        "  limits: nothing 90% of the time, cores full 10% of the time",
        "  ! mind this",
    ]
    nothing = msgspec.structs.replace(ADVICE, low=None, high=None, requests=None)
    assert next(view.advice(nothing)) == "www (master 100): no number of workers can be named (watched for 2 h 1 min)"


def test_of_many_pools_the_summary_says_what_is_common_once() -> None:
    idle = [msgspec.structs.replace(ADVICE, pool=f"idle{number}", low=None, high=None, requests=0) for number in range(3)]
    lines = list(view.summary((ADVICE, *idle), "they share RAM"))
    assert lines[0].startswith("www (master 100): 4 to 8 workers")
    assert lines[-3:] == [
        "3 pools without a request, of which nothing can be said: idle0, idle1, idle2",
        "! 4 pools: mind this",
        "! they share RAM",
    ]
    assert not any(line.startswith("  !") for line in lines)
    assert list(view.summary((ADVICE,), "")) == list(view.advice(ADVICE))


def test_a_record_is_read_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "seen.jsonl"
    with Recorder(file) as recorder:
        recorder.add(host(), pool(), pool(pool="other"))
        recorder.add(Event(at=AT, text="something"), host(at=AT + 1), pool())
        recorder.add(ADVICE)
    intervals = list(read_recorded(file))
    assert [(seen and seen.at, len(pools), len(advice)) for seen, pools, advice in intervals] == [(None, 0, 0), (AT, 2, 0), (AT + 1, 1, 1)]
    assert intervals[1][1] == (pool(), pool(pool="other"))
    assert intervals[-1][2] == (ADVICE,)
    with pytest.raises(UsageError, match="it is there already"):
        Recorder(file)
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        Recorder(tmp_path / "none" / "seen.jsonl")
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        list(read_recorded(tmp_path / "none.jsonl"))


def test_metrics_are_valid_openmetrics_with_units_and_without_process_numbers() -> None:
    with Served("127.0.0.1", 0) as served:
        served.put(host(), (pool(), pool(pool="other", worker_pss_kib=None)), (), (ADVICE,))
        served.put(host(), (pool(requests_per_s=None),), (), (ADVICE,))
        body, kind = asked(served, "/metrics", headers=OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    families = {family.name: family for family in text_string_to_metric_families(body)}  # type: ignore[no-untyped-call]
    assert {metric.name for metric in OF_A_POOL} <= set(families)
    assert all(family.documentation for family in families.values())
    samples = {(each.name, each.labels.get("pool")): each.value for family in families.values() for each in family.samples}
    assert samples["phpdyno_pool_cpu_seconds_total", "www"] == pytest.approx(0.8)
    assert samples["phpdyno_pool_requests_total", "www"] == pytest.approx(40.0)
    assert samples["phpdyno_pool_worker_pss_bytes", "www"] == 26 << 20
    labels = {name for family in families.values() for each in family.samples for name in each.labels}
    assert labels == {"pool", "master", "limit", "end"}
    limited = {each.labels["limit"]: each.value for each in families["phpdyno_pool_limited"].samples}
    assert sum(limited.values()) == limited["nothing"] == 1.0
    recommended = {each.labels["end"]: each.value for each in families["phpdyno_pool_recommended_workers"].samples}
    assert recommended == {"low": 4, "high": 8}


def test_every_name_ends_with_its_unit() -> None:
    for metric in OF_A_POOL:
        assert not metric.unit or metric.name.endswith(f"_{metric.unit}"), metric.name
        assert metric.kind != "counter" or f"{metric.name}_total" in {name for name, _, _ in metrics_table()}


def test_masters_with_one_configuration_have_labels_of_their_own() -> None:
    here, there = pool(group="php8.2-fpm.service"), pool(master=200, group="docker-abc.scope")
    config = here.config
    assert labels_of((here,)) == [("www", config)]
    assert labels_of((here, there)) == [("www", f"{config} in php8.2-fpm.service"), ("www", f"{config} in docker-abc.scope")]
    twins = (pool(), pool(pool="other"), pool(master=200))
    assert labels_of(twins) == [("www", config), ("other", config), ("www", f"{config} (2)")]


def test_nothing_is_measured_before_the_first_interval() -> None:
    names = [family.name for family in PoolMetrics().registry().collect()]
    assert "phpdyno_pool_active_workers" in names


def asked(served: Served, path: str, *, method: str = "GET", code: int = 200, headers: dict[str, str] | None = None) -> tuple[str, str]:
    """Body and type of an answer."""
    connection = http.client.HTTPConnection(served.address, timeout=10)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read().decode()
    assert answer.status == code, body
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    connection.close()
    return body, answer.headers["Content-Type"]


def test_the_page_its_data_and_nothing_else() -> None:
    with Served("127.0.0.1", 0) as served:
        assert json.loads(asked(served, "/state.json")[0])["host"] is None
        served.put(host(), (pool(),), (Event(at=AT, pool="100:www", text="<b>reloaded</b>"),), (ADVICE,))
        state = json.loads(asked(served, "/state.json")[0])
        assert (state["pools"][0]["pool"], state["events"][0]["text"], state["advice"][0]["low"]) == ("www", "<b>reloaded</b>", 4)
        page, kind = asked(served, "/")
        assert kind == "text/html; charset=utf-8"
        assert "http" not in page.replace("http://www.w3.org/2000/svg", ""), "no foreign resource"
        assert asked(served, "/", method="HEAD")[0] == ""
        asked(served, "/etc/passwd", code=404)
        asked(served, "/../page.html", code=404)


@pytest.mark.parametrize(
    ("name", "code"), [("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:1", 200), ("evil.example:80", 403), ("evil", 403)]
)
def test_a_name_that_leads_a_browser_here_is_refused(name: str, code: int) -> None:
    with Served("127.0.0.1", 0) as served:
        asked(served, "/state.json", code=code, headers={"Host": name})


@pytest.mark.parametrize(
    ("text", "found"),
    [("9253", ("127.0.0.1", 9253)), (":9253", ("127.0.0.1", 9253)), ("192.0.2.7:80", ("192.0.2.7", 80)), ("[::1]:9253", ("::1", 9253))],
)
def test_an_address_to_listen_at(text: str, found: tuple[str, int]) -> None:
    assert parse_address(text) == found


@pytest.mark.parametrize("text", ["", "port", "127.0.0.1", "127.0.0.1:http", "somewhere:9253", "1:2:3", "127.0.0.1:70000"])
def test_what_is_no_address_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError, match=r"this is no (port|address); write --serve 9253"):
        parse_address(text)


def test_an_address_that_is_taken_is_said() -> None:
    with Served("127.0.0.1", 0) as served, pytest.raises(UsageError, match="it cannot listen there: Address already in use"):
        Served("127.0.0.1", int(served.address.rpartition(":")[2]))
