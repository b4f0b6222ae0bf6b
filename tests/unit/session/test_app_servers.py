"""What the parts of a longer run share is given back when each of them ends."""

from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.host.cores import split_cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.services.service import Service
from phpdyno.model.workload import Workload
from phpdyno.session import app_servers as session


class FakeMeter:
    """Knows whether it was closed."""

    closed = False

    def read_ns(self) -> int:
        """Nothing was used."""
        return 0

    def close(self) -> None:
        """Remembered."""
        self.closed = True


def test_each_service_has_a_meter_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, object]] = []
    own = FakeMeter()

    def meter(_: object, __: object, name: str, child: object) -> FakeMeter:
        asked.append((name, child))
        return own

    cache = SimpleNamespace(service=Service("cache", "redis", ()), child="its process")
    monkeypatch.setattr(session, "find_cpu_groups", lambda: None)
    monkeypatch.setattr(session, "host_meter", lambda _: FakeMeter())
    monkeypatch.setattr(session, "component_meter", meter)
    monkeypatch.setattr(session, "start_services", lambda *_, **__: (cache,))
    anything: Any = SimpleNamespace()
    with ExitStack() as stack:
        shared = session.start_shared(stack, PreparedApp("shop", tmp_path, Workload(())), anything, split_cores())
        assert shared.meters.services == {"cache": own}
    assert asked == [("service-cache", "its process")]
    assert own.closed


def test_meters_are_closed_with_what_they_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, own = FakeMeter(), FakeMeter()
    database = SimpleNamespace(child=None)
    monkeypatch.setattr(session, "find_cpu_groups", lambda: None)
    monkeypatch.setattr(session, "host_meter", lambda _: whole)
    monkeypatch.setattr(session, "component_meter", lambda *_: own)
    for name in ("live_datadir", "database_socket", "component_cgroup"):
        monkeypatch.setattr(session, name, lambda *_: tmp_path)
    monkeypatch.setattr(session, "Database", SimpleNamespace(start=lambda *_, **__: nullcontext(database)))
    app, supervisor = PreparedApp("shop", tmp_path, Workload(()), datadir=tmp_path), SimpleNamespace()
    with ExitStack() as stack:
        anything: Any = supervisor
        shared = session.start_shared(stack, app, anything, split_cores())
        assert (shared.meters.host, shared.meters.database) == (whole, own)
        assert not whole.closed
        assert not own.closed
    assert whole.closed
    assert own.closed
