"""`phpdyno watch` as an ordinary user: less than root sees, and it says what is missing and what to
do."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.host.test_ordinary_user import NOBODY, home, python, run_as_nobody
from tests.support.real.live import live_php
from tests.support.real.watched import loaded, pool_text

__all__ = ("home", "python")
pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else"), pytest.mark.alone]


def test_it_sees_time_queue_and_workers_and_says_what_is_missing(home: Path, python: tuple[str, dict[str, str]]) -> None:
    interpreter, env = python
    with live_php(www2=pool_text(most=2)) as live:
        live.start()
        with loaded(live, "sleep", clients=4):
            answer = run_as_nobody([interpreter, "-m", "phpdyno", "watch", "www2", "--for", "1.5s", "--interval", "0.5s"], env, home)
    assert answer.returncode == 0, answer.stderr
    assert "– busy of 2" in answer.stdout
    assert "2 there" in answer.stdout
    assert "queue 2.0 (at most 2 of" in answer.stdout
    assert "no number of workers can be named" in answer.stdout
    said = answer.stderr.splitlines()
    assert sum("its memory may not be read; run phpdyno as root" in line for line in said) == 2, said  # of the master, and of workers
    assert any("it has no pm.status_listen; set it in the pool's file and reload php-fpm" in line for line in said)
    assert len(said) == len(set(said)) == 3


def test_a_status_socket_that_may_not_be_asked_is_named(home: Path, python: tuple[str, dict[str, str]]) -> None:
    interpreter, env = python
    page = "pm.status_listen = {place}/status.sock\npm.status_path = /st\nlisten.mode = 0600\nlisten.owner = root\nlisten.group = root\n"
    with live_php(www2=pool_text(most=2, more=page)) as live:
        live.start()
        answer = run_as_nobody([interpreter, "-m", "phpdyno", "watch", "www2", "--for", "0.6s", "--interval", "0.3s"], env, home)
    assert answer.returncode == 0, answer.stderr
    assert "php-fpm's status page does not answer: cannot connect: Permission denied" in answer.stderr


def test_a_page_beside_tells_an_ordinary_user_how_many_workers_are_busy(home: Path, python: tuple[str, dict[str, str]]) -> None:
    interpreter, env = python
    page = "pm.status_listen = {place}/status.sock\npm.status_path = /st\nlisten.mode = 0666\n"
    with live_php(www2=pool_text(most=2, more=page)) as live:
        live.start()
        with loaded(live, "sleep", clients=3):
            answer = run_as_nobody([interpreter, "-m", "phpdyno", "watch", "www2", "--for", "1.5s", "--interval", "0.5s"], env, home)
    assert answer.returncode == 0, answer.stderr
    assert "2.0 busy of 2" in answer.stdout
    assert "2 workers" in answer.stdout or "4 workers" in answer.stdout


@pytest.mark.parametrize("hidden", ["1", "2"])
def test_with_hidepid_it_says_that_processes_may_be_hidden(hidden: str, home: Path, python: tuple[str, dict[str, str]]) -> None:
    interpreter, env = python
    script = f'mount -t proc -o hidepid={hidden} proc /proc && exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups "$@"'
    command = ["unshare", "--mount", "sh", "-ec", script, "sh", interpreter, "-m", "phpdyno", "watch", "--for", "1s"]
    with live_php() as live:
        live.start()
        answer = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1, answer.stdout
    assert answer.stderr == (
        "phpdyno: watch: no php-fpm runs here; start php-fpm, or run phpdyno as root where processes of others are hidden (hidepid)\n"
    )
