"""An app with its own server block for nginx (23)."""

import shutil
from pathlib import Path

import pytest

from phpdyno.journal.records import Answers, Concluded, Preflight
from tests.support.places import FIELD_CASES
from tests.support.real.command import FEWEST, fault_of, phpdyno, records_of

pytestmark = pytest.mark.integration

CASE = FIELD_CASES / "23-own-server-block"
PAGE = """SHOP_TIER=gold plus
SHOP_TONE=warm
HTTPS=on
REQUEST_SCHEME=https
SERVER_NAME=shop.example
SERVER_PORT=443
QUERY_STRING=route=/product/7&colour=red
PATH_INFO=
DOCUMENT_ROOT=/public
"""


def test_it_answers_as_in_production(tmp_path: Path) -> None:
    settings = ("web.fastcgi_buffer_size=64k;web.access_log=on", "web.fastcgi_keepalive=1;pool.pm.max_children=2")
    # For CPU the targets are asked one by one: the last that reaches PHP is always download.php,
    # whose connection nginx does not keep.
    arms = ("--aa", "--metric", "cpu", *(word for each in settings for word in ("--treatment", each)))
    answer = phpdyno("compare", CASE / "app.toml", *arms, *FEWEST, "--budget", "30s", "--runs", tmp_path)
    assert answer.returncode == 0, answer.stderr
    records = records_of(tmp_path)
    # A redirect that nginx makes by itself must not name a port that is drawn for each instance.
    assert [record.verdict.reason for record in records if isinstance(record, Concluded) and record.verdict.kind == "invalid"] == []
    assert {record.verdict.treatment for record in records if isinstance(record, Concluded)} == {"A/A", *settings}
    told = next(record for record in records if isinstance(record, Answers)).targets
    assert [each.status for each in told] == [200, 200, 301, 502]
    assert [each.body_bytes for each in told[:2]] == [len(PAGE), len("invoice 7\n")]
    warnings = next(record for record in records if isinstance(record, Preflight)).warnings
    for words in (
        "ours instead of the file's: listen, server_name, root, fastcgi_pass php-shop",
        "location /api/ answers 502: proxy_pass http://127.0.0.1:3000 leads elsewhere",
        "left out: limit_req, limit_req_zone (it would limit the load)",
        "left out: more_clear_headers (our nginx does not know it)",
    ):
        assert any(words in warning for warning in warnings), words
        assert words in answer.stderr


@pytest.mark.parametrize("way", [("--transport", "fastcgi"), ("--control", "web.server=apache-mod_php", "--metric", "cpu")])
def test_it_is_nginx_s_alone(tmp_path: Path, way: tuple[str, ...]) -> None:
    answer = phpdyno("compare", CASE / "app.toml", "--aa", *way, "--budget", "20s", "--runs", tmp_path)
    assert answer.returncode == 2
    assert "server block" in fault_of(answer.stderr)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("server { location / { root /x; } }", "no server block passes requests to PHP"),
        ("server { location / { fastcgi_pass x; }", "site.conf"),
        ("include nothing-here.conf; server {}", "there is no file 'nothing-here.conf' to include"),
        ("include site.conf;", "includes lead in a circle"),
        (
            "server { server_name a; location / { fastcgi_pass x; } }\nserver { server_name b; location / { fastcgi_pass x; } }",
            "2 server blocks",
        ),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    shutil.copytree(CASE, tmp_path / "case")
    (tmp_path / "case" / "site.conf").write_text(text)
    answer = phpdyno("compare", tmp_path / "case" / "app.toml", "--aa", "--budget", "20s", "--runs", tmp_path / "runs")
    assert answer.returncode == 2, answer.stderr
    assert says in fault_of(answer.stderr)
