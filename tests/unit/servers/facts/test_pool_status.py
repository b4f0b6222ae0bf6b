"""php-fpm's status page: what PHP 8.2 wrote, and what it would never write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.errors import DynoError
from phpdyno.model.runs.readings import PoolStatus
from phpdyno.servers.facts.pool_status import parse_status, read_pool_status, read_process_manager, status_listen

# As PHP 8.2 wrote it while two workers were busy and four connections waited at their unix socket.
PAGE = (
    b'{"pool":"phpdyno","process manager":"static","start time":1795290669,"start since":2,"accepted conn":7,"listen queue":0,'
    b'"max listen queue":0,"listen queue len":0,"idle processes":0,"active processes":2,"total processes":2,"max active processes":2,'
    b'"max children reached":0,"slow requests":0}'
)


def changed(**values: Any) -> bytes:
    return json.dumps({**json.loads(PAGE), **{name.replace("_", " "): value for name, value in values.items()}}).encode()


def test_a_page_as_php_wrote_it() -> None:
    assert parse_status(PAGE) == PoolStatus(
        accepted=7,
        listen_queue=0,
        max_listen_queue=0,
        listen_queue_len=0,
        idle=0,
        active=2,
        total=2,
        max_active=2,
        max_children_reached=0,
        slow_requests=0,
    )


def test_fields_of_newer_versions_are_no_matter() -> None:
    assert parse_status(changed(memory_peak=2097152, processes=[])) == parse_status(PAGE)


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"File not found.\n",
        b"[]",
        b"\xff\xfe",
        PAGE[:-1],
        PAGE + b"{}",
        changed(listen_queue=-1),
        changed(listen_queue="0"),
        changed(active_processes=1.5),
        changed(accepted_conn=None),
        b'{"pool":"phpdyno","active processes":2}',
    ],
)
def test_anything_else_is_refused(page: bytes) -> None:
    with pytest.raises(DynoError, match="this is not php-fpm's status page"):
        parse_status(page)


def test_a_page_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(DynoError, match="contradicts itself"):
        parse_status(changed(total_processes=5))


@given(st.binary(max_size=400))
def test_any_bytes_are_a_page_or_one_clear_line(page: bytes) -> None:
    with pytest.raises(DynoError):
        parse_status(page)


@pytest.mark.parametrize(("version", "place"), [("7.4.33", ""), ("8.0.0", "/run/x/status.sock"), ("8.5.0-dev", "/run/x/status.sock")])
def test_only_php_8_has_a_socket_for_the_page(version: str, place: str) -> None:
    assert status_listen(version, Path("/run/x")) == place


@pytest.mark.parametrize("ask", [read_pool_status, read_process_manager])
def test_nobody_answers_at_the_address(ask: Callable[[str], object]) -> None:
    with pytest.raises(DynoError, match=r"unix:/nonexistent\.sock: php-fpm's status page does not answer: "):
        ask("unix:/nonexistent.sock")
