"""Access logs as they are found in the field, and what phpdyno itself makes of them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.real.command import phpdyno

pytestmark = pytest.mark.integration
CASES = Path(__file__).resolve().parents[2] / "field_cases"
NGINX = """
events { }
http {
    log_format shop '$request_time|$http_host|$request_method $request_uri|$status';
    server { access_log /var/log/nginx/shop.log shop; location / { return 204; } }
}
"""


def kept(tmp_path: Path, log: Path, *options: str) -> tuple[dict[str, Any], str]:
    """The workload file that a log comes to, and what was said. Without a treatment the command
    ends when the log was read."""
    saved = tmp_path / "kept.toml"
    saved.unlink(missing_ok=True)
    done = phpdyno("compare", "hello", "--from-log", log, "--save-workload", saved, "--runs", tmp_path / "runs", *options)
    assert done.returncode == 2, done.stderr
    assert "nothing to compare" in done.stderr
    return tomllib.loads(saved.read_text()), done.stderr


def weights(workload: dict[str, Any]) -> dict[str, int]:
    return {target["path"]: target["weight"] for target in workload["target"]}


def test_01_uri_holds_the_query(tmp_path: Path) -> None:
    workload, said = kept(tmp_path, CASES / "01-json-uri-has-the-query" / "access.json.log")
    assert weights(workload) == {
        "/": 15,
        "/catalog/search?q=tea&page=2": 12,
        "/catalog/item.php?id=42": 10,
        "/catalog/search?q=%D1%87%D0%B0%D0%B9": 6,
        "/caf%C3%A9/menu": 4,
    }
    assert workload["host"] == "shop.example"
    assert "3 (6.0%) static files" in said
    assert "target = uri (as the client sent it)" in said
    assert "→ /catalog/search?q=%D1%87%D0%B0%D0%B9" in said


def test_03_several_sites_without_one_named(tmp_path: Path) -> None:
    workload, said = kept(tmp_path, CASES / "03-log-of-several-sites" / "other_vhosts_access.log")
    assert (workload["host"], weights(workload)) == ("blog.example", {"/": 23, "/feed/": 23, "/2026/11/hello": 20})
    assert "site = column 1" in said
    assert "other sites (--log-host takes one of them): shop.example 57, intranet.example 22" in said


def test_03_one_of_several_sites(tmp_path: Path) -> None:
    workload, _ = kept(tmp_path, CASES / "03-log-of-several-sites" / "other_vhosts_access.log", "--log-host", "shop.example")
    assert (workload["host"], weights(workload)) == ("shop.example", {"/": 20, "/cart": 19, "/item/7?color=red": 18})


def test_10_a_script_with_a_static_name_behind_it(tmp_path: Path) -> None:
    workload, said = kept(tmp_path, CASES / "10-script-with-path-info" / "access.log")
    assert weights(workload) == {"/tools/report.php/2026/q3": 18, "/assets.php/css/site.css": 13, "/": 13}
    assert "static" not in said


def test_a_format_out_of_the_configuration_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text(NGINX)
    log = tmp_path / "shop.log.1"
    log.write_text("0.010|shop.example|GET /a?b=1|200\n" * 3 + "0.010|blog.example|GET /|200\n")
    for given in (
        f"@{tmp_path}/nginx.conf:shop",
        f"@{tmp_path}/nginx.conf",
        "$request_time|$http_host|$request_method $request_uri|$status",
    ):
        workload, said = kept(tmp_path, log, "--log-format", given)
        assert (workload["host"], weights(workload)) == ("shop.example", {"/a?b=1": 3})
        assert "site = $http_host, method = $request_method, target = $request_uri, status = $status" in said
    unread = phpdyno("compare", "hello", "--from-log", log, "--runs", tmp_path / "runs")
    assert unread.returncode == 2
    assert "4 of 4 lines cannot be read, as line 1: '0.010|shop.example|GET /a?b=1|200'; say how with --log-format" in unread.stderr


def test_check_says_what_was_taken_for_what(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text('203.0.113.7 - - [20/Nov/2026:08:00:00 +0000] "GET /?a=1 HTTP/1.1" 200 512 "-" "-"\n')
    done = phpdyno("check", "hello", "--from-log", log)
    assert done.returncode == 0, done.stderr
    assert "line 1: GET /?a=1 HTTP/1.1 → /?a=1" in done.stderr
