"""Apps that look at how they are asked: https and a host of their own (20), compression (21); and a
page with a warning of PHP in it (22)."""

from pathlib import Path

import pytest

from phpdyno.journal.records import Answers, Incident
from tests.support.places import FIELD_CASES
from tests.support.real.command import FEWEST, document, fault_of, phpdyno, records_of, row

pytestmark = pytest.mark.integration

SHORT = (*FEWEST, "--budget", "20s")


def test_an_app_that_wants_https_says_what_to_set(tmp_path: Path) -> None:
    answer = phpdyno("compare", "--docroot", FIELD_CASES / "20-canonical-https" / "site", "--aa", *SHORT, "--runs", tmp_path)
    assert answer.returncode == 1
    fault = fault_of(answer.stderr)
    assert "redirects to 'https://shop.example/'" in fault
    assert "--host https://shop.example" in fault


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
def test_asked_over_https_it_is_measured(tmp_path: Path, transport: str) -> None:
    app = FIELD_CASES / "20-canonical-https" / "app.toml"
    answer = phpdyno("compare", app, "--aa", *SHORT, "--transport", transport, "--runs", tmp_path)
    assert answer.returncode == 0, answer.stderr
    learnt = next(record for record in records_of(tmp_path) if isinstance(record, Answers))
    assert [(each.status, each.body_bytes) for each in learnt.targets] == [(200, 29), (200, 13)]


def test_the_option_does_the_same(tmp_path: Path) -> None:
    site = FIELD_CASES / "20-canonical-https" / "site"
    answer = phpdyno("compare", "--docroot", site, "--host", "https://shop.example", "--aa", "--verbose", *SHORT, "--runs", tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "as https://shop.example" in answer.stdout


def test_compression_that_hangs_on_the_request_is_seen_at_work(tmp_path: Path) -> None:
    site, treatment = FIELD_CASES / "21-output-compression" / "site", "ini.zlib.output_compression=1"
    answer = phpdyno("compare", "--docroot", site, "--treatment", treatment, *SHORT, "--runs", tmp_path, "--json")
    assert answer.returncode == 0, answer.stderr
    assert row(answer, treatment)["kind"] == "regressed", document(answer)["rows"]


def test_requests_that_say_nothing_of_compression_are_not_taken_for_a_proof(tmp_path: Path) -> None:
    site, treatment = FIELD_CASES / "21-output-compression" / "site", "ini.zlib.output_compression=1"
    answer = phpdyno("compare", "--docroot", site, "--treatment", treatment, "--accept-encoding", "none", *SHORT, "--runs", tmp_path)
    assert answer.returncode == 2
    assert "--accept-encoding 'gzip" in fault_of(answer.stderr)
    assert not list(tmp_path.iterdir())


def test_a_warning_in_a_page_is_told_and_kept(tmp_path: Path) -> None:
    site = FIELD_CASES / "22-warning-in-a-page" / "site"
    answer = phpdyno("compare", "--docroot", site, "--aa", *SHORT, "--runs", tmp_path)
    assert answer.returncode == 0, answer.stderr
    words = "/ shows a message of PHP: Warning: Undefined variable $missing in "
    assert answer.stderr.count(words) == 1
    kept = [record.detail for record in records_of(tmp_path) if isinstance(record, Incident) and record.kind == "PHP complains in a page"]
    assert len(kept) == 1
    assert kept[0].startswith(words)
    assert "Undefined variable $missing" in answer.stdout


def test_check_and_measure_tell_it_too(tmp_path: Path) -> None:
    site = FIELD_CASES / "22-warning-in-a-page" / "site"
    checked = phpdyno("check", "--docroot", site)
    assert "in the page: Warning: Undefined variable $missing" in checked.stdout
