"""Requests of an access log or a workload file in the place of the app's own, and one clear line
for what cannot be."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from phpdyno.commands.common import requests as command
from phpdyno.commands.common.options import RequestOptions
from phpdyno.commands.common.requests import own_requests, refuse_with_resume
from phpdyno.config.workload_toml import load_workload
from phpdyno.errors import UsageError
from phpdyno.model.workload import Target, Workload
from phpdyno.session.source import workload_for
from tests.support.made_up.access_logs import START_S, json_line


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "access.log"
    lines = [json_line(request_uri="/a", host="shop.example", msec=f"{START_S + second}.500") for second in range(3)]
    lines.append(json_line(request_uri="/b", host="shop.example", msec=f"{START_S + 3}.500"))
    lines += [json_line(request_uri="/other", host="blog.example")]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def silent() -> Console:
    return Console(file=io.StringIO(), width=200)


def test_nothing_named_leaves_the_apps_own() -> None:
    own = own_requests(RequestOptions(), silent())
    assert (own.workload, own.file) == (None, "")


def test_a_log_becomes_a_workload_and_says_what_it_left_out(log: Path) -> None:
    out = io.StringIO()
    own = own_requests(RequestOptions(from_log=log), Console(file=out, width=200))
    assert own.workload == Workload((Target("/a", 3.0), Target("/b", 1.0)), "shop.example")
    assert own.file == str(log)
    assert "left out:" in out.getvalue()
    assert "other sites" in out.getvalue()


def test_a_large_log_is_announced_before_it_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    own_requests(RequestOptions(from_log=log), Console(file=out, width=200))
    assert not out.getvalue().startswith("reading")
    monkeypatch.setattr(command, "LARGE_BYTES", 1)
    out = io.StringIO()
    own_requests(RequestOptions(from_log=log), Console(file=out, width=200))
    assert out.getvalue().startswith(f"reading {log} (0 MiB)\n{log}: 5 lines")


def test_another_host_and_fewer_targets(log: Path) -> None:
    other = own_requests(RequestOptions(from_log=log, log_host="blog.example"), silent())
    assert other.workload == Workload((Target("/other", 1.0),), "blog.example")
    fewer = own_requests(RequestOptions(from_log=log, most_targets=1), silent())
    assert fewer.workload == Workload((Target("/a", 3.0),), "shop.example")


def test_what_is_saved_can_be_asked_again(log: Path, tmp_path: Path) -> None:
    saved = tmp_path / "shop.toml"
    own = own_requests(RequestOptions(from_log=log, save_workload=saved), silent())
    again = own_requests(RequestOptions(workload=saved), silent())
    assert again.workload == own.workload
    assert again.file == str(saved)
    assert load_workload(saved).arrival is not None
    assert saved.read_text().startswith("# made by phpdyno --save-workload")


def test_an_app_with_a_host_of_its_own_is_asked_by_it() -> None:
    own = Workload((Target("/a"),), "shop.example")
    plain, named = Workload((Target("/"),)), Workload((Target("/"),), "blog.test")
    assert workload_for(own, plain) == own
    assert workload_for(own, named) == Workload((Target("/a"),), "blog.test")
    assert workload_for(None, named) == named


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (RequestOptions(from_log=Path("a"), workload=Path("b")), "both --from-log and --workload are given; give one of the two"),
        (RequestOptions(log_host="x"), "--log-host x: --log-host belongs to --from-log"),
        (RequestOptions(log_format="$request $status"), "--log-format $request $status: --log-format belongs to --from-log"),
        (RequestOptions(most_targets=3), "--most-targets 3: --most-targets belongs to --from-log"),
        (RequestOptions(save_workload=Path("w.toml")), "--save-workload w.toml: --save-workload belongs to --from-log"),
        (RequestOptions(save_workload=Path("w.toml"), workload=Path("b")), "--save-workload belongs to --from-log"),
        (RequestOptions(from_log=Path("a"), most_targets=0), "--most-targets: 0 is not from 1 to 10000"),
        (RequestOptions(from_log=Path("/no/such.log")), "/no/such.log"),
        (RequestOptions(workload=Path("/no/such.toml")), "/no/such.toml: there is no such file"),
        (RequestOptions(workload=Path("~nobodyhere/w.toml")), "--workload: the home directory in '~nobodyhere/w.toml' is not known"),
        (RequestOptions(from_log=Path("~nobodyhere/a.log")), "--from-log: the home directory in '~nobodyhere/a.log' is not known"),
        (RequestOptions(from_log=Path("a"), save_workload=Path("~nobodyhere/w.toml")), "--save-workload: the home directory in"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(options: RequestOptions, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        own_requests(options, silent())
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_there_is_not_overwritten_and_said_before_the_log_is_read(tmp_path: Path) -> None:
    saved = tmp_path / "shop.toml"
    saved.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        own_requests(RequestOptions(from_log=Path("/no/such.log"), save_workload=saved), silent())
    assert saved.read_text() == "mine"


def test_a_log_that_holds_nothing_to_ask_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "access.log"
    empty.write_bytes(b"")
    saved = tmp_path / "w.toml"
    with pytest.raises(UsageError, match="is empty"):
        own_requests(RequestOptions(from_log=empty, save_workload=saved), silent())
    assert not saved.exists()


def test_a_resumed_run_keeps_its_requests() -> None:
    refuse_with_resume(RequestOptions())
    with pytest.raises(UsageError, match="--resume with --from-log: a run that is resumed keeps its requests"):
        refuse_with_resume(RequestOptions(from_log=Path("a")))
