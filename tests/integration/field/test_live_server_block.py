"""The server block of a running nginx, before a running pool."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phpdyno.journal.records import Answers, Planned, Preflight
from phpdyno.servers.launching import free_port
from phpdyno.servers.programs.finding import find_program
from tests.support.real.command import FEWEST, fault_of, phpdyno, records_of, site
from tests.support.real.live import LivePhp, live_php

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="another account's php-fpm can be read by root only")]

TELL = "<?php echo $_SERVER['TIER'] ?? 'none', ' ', $_GET['route'] ?? '-', str_repeat(' x', 200);"
CONF = """pid {place}/nginx.pid; error_log {place}/error.log; events {{}}
http {{
  access_log off;
  upstream www2 {{ server 127.0.0.1:{pool}; }}
  server {{ listen 127.0.0.1:{one}; server_name other.example; root /nowhere;
    location ~ \\.php$ {{ include {etc}/fastcgi.conf; fastcgi_pass unix:{place}/www.sock; }} }}
  server {{ listen 127.0.0.1:{two}; server_name shop.example; root {docroot}; index index.php;
    location / {{ try_files $uri /index.php?route=$uri; }}
    location ~ \\.php$ {{ include {etc}/fastcgi.conf; fastcgi_param TIER gold; fastcgi_pass www2; }} }}
}}
"""


@contextmanager
def running_nginx(live: LivePhp, docroot: Path) -> Iterator[Path]:
    """An nginx of somebody else's in front of the pools; its configuration file."""
    conf = live.place / "nginx.conf"
    conf.write_text(CONF.format(place=live.place, pool=live.port, one=free_port(), two=free_port(), docroot=docroot, etc="/etc/nginx"))
    process = subprocess.Popen([find_program("nginx"), "-c", str(conf), "-g", "daemon off;"], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 15
        while not (live.place / "nginx.pid").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield conf
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture
def live() -> Iterator[LivePhp]:
    with live_php() as running:
        running.start()
        yield running


def test_the_block_before_the_pool_is_found_by_its_upstream_and_used(live: LivePhp, tmp_path: Path) -> None:
    docroot = site(tmp_path / "site", index=TELL)
    with running_nginx(live, docroot) as conf:
        asked = ("compare", "--docroot", docroot, "--url", "/a/b", "--control", "live:www2", "--aa", *FEWEST, "--budget", "20s")
        answer = phpdyno(*asked, "--nginx", "live:www2", "--runs", tmp_path / "runs")
        assert answer.returncode == 0, answer.stderr
        offered = phpdyno(*asked, "--runs", tmp_path / "other")
    records = records_of(tmp_path / "runs")
    told = next(record for record in records if isinstance(record, Answers)).targets
    assert told[0].body_bytes == len("gold /a/b" + " x" * 200)
    assert any("fastcgi_pass www2" in warning for record in records if isinstance(record, Preflight) for warning in record.warnings)
    assert next(record.plan.source.nginx for record in records if isinstance(record, Planned)) == "live:www2"
    assert f"nginx has a server block of its own before www2 ({conf}:" in offered.stderr
    assert "--nginx live:www2" in offered.stderr
    plain = next(record for record in records_of(tmp_path / "other") if isinstance(record, Answers)).targets
    assert plain[0].body_bytes == len("none -" + " x" * 200)


def test_a_pool_that_no_server_block_passes_to_is_one_line(live: LivePhp, tmp_path: Path) -> None:
    docroot = site(tmp_path / "site", index=TELL)
    with running_nginx(live, docroot) as conf:
        conf.write_text("events {} http { server { location / { fastcgi_pass 127.0.0.1:1; } } }")
        answer = phpdyno("compare", "--docroot", docroot, "--aa", "--nginx", "live:www2", "--budget", "20s", "--runs", tmp_path / "runs")
    assert answer.returncode == 2
    assert f"no server block passes requests to the pool at tcp:127.0.0.1:{live.port}" in fault_of(answer.stderr)
