"""Sources of a pool's workers and requests where there is no scoreboard: systemd's line, and the
order in which they are tried."""

from pathlib import Path

import pytest

from phpdyno.commands.watch.reading import sources
from phpdyno.commands.watch.reading.sources import NotThere, SystemdLine, open_source
from phpdyno.errors import DynoError
from phpdyno.servers.live.watched_masters import WatchedMaster, WatchedPool

NOBODY = 1 << 22
"""A process that cannot be: Linux numbers them below this."""


def pool(**directives: str) -> WatchedPool:
    return WatchedPool(WatchedMaster(NOBODY, 0, "/etc/fpm.conf", 5, inside=False), "www", directives)


def nobody() -> None:
    """Nothing tells who its workers are."""


@pytest.fixture
def fake_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers as `systemctl show` does, with what its file says; the pool is in a
    unit."""
    said, program = tmp_path / "said", tmp_path / "systemctl"
    said.write_text("Processes active: 3, idle: 2, Requests: 40, slow: 1, Traffic: 1.00req/sec\n")
    program.write_text(f'#!/bin/sh\n[ "$*" = "show --property StatusText --value php8.2-fpm.service" ] && cat {said}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(sources, "SYSTEMD", tmp_path)
    monkeypatch.setattr(sources, "unit_of", lambda cgroup: "php8.2-fpm.service")
    return said


def test_systemds_line_is_taken_where_the_master_has_one_pool(fake_systemd: Path) -> None:
    source, refused = open_source(pool(), nobody, ask=False, alone=True)
    assert source is not None
    reading = source.read(None)
    assert (source.name, reading.active, reading.idle, reading.requests, reading.slow_requests) == ("systemd", 3, 2, 40, 1)
    assert (reading.slots, reading.max_children, source.busy()) == (None, None, None)
    assert [error.what for error in refused] == ["it has ended", "it has no pm.status_listen"]
    fake_systemd.write_text("Processes active: 9, idle: 0, Requests: 99, slow: 1, Traffic: 1.00req/sec\n")
    assert source.read(None).active == 3, "php-fpm writes it every ten seconds, so it is asked for no more often"
    source.close()


def test_a_line_of_several_pools_together_is_not_one_of_them(fake_systemd: Path) -> None:
    with pytest.raises(NotThere):
        SystemdLine(pool(), alone=False)


def test_a_unit_that_has_no_line_yet_is_said(fake_systemd: Path) -> None:
    fake_systemd.write_text("Ready to handle connections\n")
    with pytest.raises(DynoError, match="systemd holds no line of php-fpm's"):
        SystemdLine(pool(), alone=True)


def test_without_any_source_each_reason_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "unit_of", lambda cgroup: "")
    source, refused = open_source(pool(), nobody, ask=True, alone=True)
    assert source is None
    assert [error.what for error in refused] == ["it has ended", "it has no pm.status_listen", "it has no pm.status_path"]


def test_a_page_in_a_containers_network_is_not_asked_for() -> None:
    master = WatchedMaster(NOBODY, 0, "/etc/fpm.conf", 5, inside=True)
    inside = WatchedPool(master, "www", {"pm.status_listen": "127.0.0.1:9001", "pm.status_path": "/st"})
    _, refused = open_source(inside, nobody, ask=False, alone=False)
    assert "its status page is in a container's network" in [error.what for error in refused]
