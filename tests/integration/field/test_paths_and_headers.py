"""Inputs from the field: scripts with something behind their name (10), and more response headers
than nginx's first buffer takes (08)."""

from pathlib import Path

import pytest

from phpdyno.journal.records import Answers
from tests.support.places import FIELD_CASES
from tests.support.real.command import FEWEST, fault_of, phpdyno, records_of, row

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
def test_a_script_with_something_behind_its_name_is_what_is_measured(tmp_path: Path, transport: str) -> None:
    site = FIELD_CASES / "10-script-with-path-info" / "site"
    urls = ("--url", "/tools/report.php/2026/q3", "--url", "/index.php/catalog/7")
    answer = phpdyno(
        *("compare", "--docroot", site, *urls, "--aa", *FEWEST, "--budget", "20s", "--transport", transport, "--runs", tmp_path)
    )
    assert answer.returncode == 0, answer.stderr
    told = [
        {each.path: (each.status, each.body_bytes) for each in record.targets}
        for record in records_of(tmp_path)
        if isinstance(record, Answers)
    ]
    assert told
    assert all(each == {"/tools/report.php/2026/q3": (200, 3881), "/index.php/catalog/7": (200, 31)} for each in told)


def test_a_script_that_does_not_exist_is_not_the_front_controller_s(tmp_path: Path) -> None:
    site = FIELD_CASES / "10-script-with-path-info" / "site"
    answer = phpdyno("compare", "--docroot", site, "--url", "/no-such.php/x", "--aa", "--budget", "20s", "--runs", tmp_path)
    assert answer.returncode == 1
    assert "status 404 instead of 200" in fault_of(answer.stderr)


def test_headers_that_nginx_does_not_take_are_told_in_its_words_with_the_setting_that_helps(tmp_path: Path) -> None:
    site = FIELD_CASES / "08-large-response-headers" / "site"
    answer = phpdyno("compare", "--docroot", site, "--aa", "--budget", "20s", "--runs", tmp_path / "a")
    assert answer.returncode == 1
    fault = fault_of(answer.stderr)
    assert "upstream sent too big header" in fault
    assert "web.fastcgi_buffer_size=32k" in fault
    assert "PHP crashed" not in fault


def test_with_the_setting_it_is_measured(tmp_path: Path) -> None:
    site = FIELD_CASES / "08-large-response-headers" / "site"
    more = ("web.fastcgi_buffer_size=32k;web.fastcgi_buffers=16 32k", "web.fastcgi_buffer_size=128k")
    arms = ("--control", "web.fastcgi_buffer_size=32k", *(word for each in more for word in ("--treatment", each)))
    answer = phpdyno("compare", "--docroot", site, *arms, *FEWEST, "--budget", "20s", "--runs", tmp_path, "--json")
    assert answer.returncode == 0, answer.stderr
    for each in more:
        assert row(answer, each)["kind"] != "invalid", row(answer, each)["reason"]
