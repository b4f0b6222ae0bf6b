"""phpdyno check, as a stranger uses it: on apps that can be measured and on those that cannot."""

import re
from pathlib import Path

import msgspec
import pytest

from phpdyno.commands.check.found import CheckFound
from tests.support.real.command import fault_of, phpdyno
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

REACHING = """<?php
@fsockopen('127.0.0.1', 6379, $number, $said, 1);
@file_get_contents('http://api.shop.example/v1');
mail('somebody@shop.example', 'subject', 'text');
@file_put_contents('/var/log/shop.log', 'x', FILE_APPEND);
echo $undefined, 'a page that stays';
"""


def test_a_plain_app_can_be_measured_and_reaches_for_nothing() -> None:
    answer = phpdyno("check", "hello")
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^/ +200 +[\d,]+ +[\d.]+ ms +[\d.]+ ms +nothing$", answer.stdout, re.MULTILINE)
    assert "RESULT  can be measured (1 target)" in answer.stdout
    *_, reached, after = answer.stdout.splitlines()
    assert reached == "it reached for nothing outside its own files and database"
    assert after.startswith("Next: ")
    assert after.endswith("phpdyno tune hello")
    assert wait_for_no_traces() == []


def test_what_an_app_reaches_for_is_told_by_name_and_php_s_warnings_with_it(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.php").write_text(REACHING)
    answer = phpdyno("check", "--docroot", tmp_path / "site", "--url", "/", "--verbose")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    for line in (
        '  once a request 127.0.0.1:6379, refused: `[service.cache] kind = "redis"`, `at = "127.0.0.1:6379"` gives it one',
        "  once a request api.shop.example was looked up, and no address found: "
        "`--allow-network api.shop.example:PORT` lets it through, for this run",
        "  once a request /var/log/shop.log, opened for writing: "
        "it went to a private copy, which is gone after the run; nothing of yours was touched",
    ):
        assert line in answer.stdout.splitlines()
    assert "  once a request mail() handed a message to sendmail: " in answer.stdout
    assert "/: PHP Warning:  Undefined variable $undefined" in answer.stdout
    assert not Path("/var/log/shop.log").exists()


def test_what_cannot_be_measured_says_why_in_the_server_s_words(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.php").write_text("<?php require __DIR__ . '/../vendor/autoload.php';")
    (tmp_path / "site/big.php").write_text("<?php header('X-Tags: ' . str_repeat('t', 6000)); echo 'big';")
    answer = phpdyno("check", "--docroot", tmp_path / "site", "--url", "/", "--url", "/big.php", "--json")
    assert answer.returncode == 1, answer.stderr
    found = msgspec.json.decode(answer.stdout, type=CheckFound)
    problems = {target.label: target.problem for target in found.targets}
    assert "status 500 instead of 200" in problems["/"]
    assert "Failed opening required" in problems["/"]
    assert "upstream sent too big header" in problems["/big.php"]


def test_a_comparison_that_cannot_begin_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.php").write_text("<?php header('X-Tags: ' . str_repeat('t', 6000)); echo 'big';")
    answer = phpdyno("compare", "--docroot", tmp_path / "site", "--url", "/", "--aa", "--runs", tmp_path / "runs")
    assert answer.returncode == 1
    assert "status 502 instead of 200" in fault_of(answer.stderr)
    assert "upstream sent too big header" in fault_of(answer.stderr)


def test_no_bottle_is_said_first(tmp_path: Path) -> None:
    answer = phpdyno("check", "hello", "--no-bottle")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[1].startswith("without a bottle (--no-bottle)")
