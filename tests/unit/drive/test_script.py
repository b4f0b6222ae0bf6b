"""The driver of a script's operations, against a fake host: framing, columns, and what becomes of
every way to fail."""

import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES
from phpdyno.drive import script
from phpdyno.drive.requests import LengthClass
from phpdyno.drive.script import ScriptDriver, ScriptSamples
from phpdyno.host.sockets.channel import Channel
from tests.support.fakes.fake_script_host import FakeScriptHost, told

ANY = LengthClass()


@pytest.fixture
def path() -> Iterator[Path]:
    """A short one: a unix socket's path holds 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="pd-", dir="/tmp") as folder:
        yield Path(folder) / "s"


def sequence(*targets: int) -> NDArray[np.uint32]:
    return np.asarray(targets, dtype=np.uint32)


def outcomes(samples: ScriptSamples) -> list[str]:
    return [OUTCOMES[code] for code in samples.outcome.tolist()]


def test_a_slot_is_one_command_and_its_rows_come_in_any_number_of_messages(path: Path) -> None:
    replies: list[bytes | None] = [told("r", (10, 15, 0, 3)), told("r"), told("z", (20, 28, 0, 5), (30, 31, 0, 0))]
    with FakeScriptHost(path, lambda _: replies) as host:
        driver = ScriptDriver(path, [ANY, ANY])
        samples = driver.drive(sequence(1, 0, 1))
        driver.close()
    assert host.asked == [b"R" + struct.pack("<4I", 3, 1, 0, 1)]
    assert samples.sent_ns.tolist() == [10, 20, 30]
    assert samples.done_ns.tolist() == samples.first_byte_ns.tolist() == [15, 28, 31]
    assert samples.body_bytes.tolist() == [3, 5, 0]
    assert samples.target.tolist() == [1, 0, 1]
    assert outcomes(samples) == ["ok", "ok", "ok"]
    assert (samples.started_ns, samples.ended_ns) == (10, 31)
    kinds = {name: getattr(samples, name).dtype for name in ("sent_ns", "status", "body_bytes", "target", "outcome")}
    assert kinds == {"sent_ns": np.uint64, "status": np.uint16, "body_bytes": np.uint64, "target": np.uint32, "outcome": np.uint8}


def test_the_connection_is_kept_from_slot_to_slot(path: Path) -> None:
    with FakeScriptHost(path, lambda _: [told("z", (1, 2, 0, 0))]) as host:
        driver = ScriptDriver(path, [ANY])
        for _ in range(3):
            driver.drive(sequence(0))
        assert len(host._connections) == 1
        driver.close()


def test_a_thrown_exception_and_a_wrong_length_are_failures_and_what_follows_the_last_allowed_one_is_abandoned(path: Path) -> None:
    rows = told("z", (1, 2, 1, 0), (3, 4, 0, 50), (5, 6, 0, 8), (7, 8, 1, 0))
    with FakeScriptHost(path, lambda _: [rows]):
        driver = ScriptDriver(path, [LengthClass(5, 10)])
        samples = driver.drive(sequence(0, 0, 0, 0, 0))
        driver.close()
    assert outcomes(samples) == ["wrong_status", "wrong_length", "ok", "wrong_status", "abandoned"]
    assert samples.status.tolist() == [1, 0, 0, 1, 0]


@pytest.mark.parametrize("last", [told("d", (1, 2, 0, 0)), None])
def test_a_process_that_ends_in_an_operation_fails_it_and_keeps_what_it_told(path: Path, last: bytes | None) -> None:
    replies: list[bytes | None] = [last] if last else [told("r", (1, 2, 0, 0)), None]
    with FakeScriptHost(path, lambda _: replies):
        samples = ScriptDriver(path, [ANY]).drive(sequence(0, 0, 0))
    assert outcomes(samples) == ["ok", "closed_early", "abandoned"]


def test_nobody_there(path: Path) -> None:
    driver = ScriptDriver(path, [ANY])
    assert outcomes(driver.drive(sequence(0, 0))) == ["connect_failed", "abandoned"]
    reply = driver.fetch(0)
    assert OUTCOMES[reply.outcome] == "connect_failed"
    assert "No such file" in reply.detail


def test_an_operation_that_takes_too_long_is_timed_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "FLUSH_NS", 0)
    # The host's own word of it, and a host that says nothing at all.
    with FakeScriptHost(path, lambda _: [told("z", (1, 2, 0, 0), (2, 2_000_000_000, 0, 0))]):
        driver = ScriptDriver(path, [ANY], timeout_ns=1_000_000_000)
        assert outcomes(driver.drive(sequence(0, 0))) == ["ok", "timed_out"]
        driver.close()
    path.unlink()
    with FakeScriptHost(path, lambda _: []):
        driver = ScriptDriver(path, [ANY], timeout_ns=50_000_000)
        assert outcomes(driver.drive(sequence(0, 0))) == ["timed_out", "abandoned"]
        driver = ScriptDriver(path, [ANY], timeout_ns=50_000_000)
        assert OUTCOMES[driver.fetch(0).outcome] == "timed_out"


def test_fetch_keeps_the_answer_and_what_a_failed_operation_says(path: Path) -> None:
    with FakeScriptHost(path, lambda asked: [b"\0answer"] if asked == b"F" + struct.pack("<I", 0) else [b"\1boom"]):
        driver = ScriptDriver(path, [ANY, ANY])
        good, bad = driver.fetch(0), driver.fetch(1)
        driver.close()
    assert (OUTCOMES[good.outcome], good.status, good.body, good.headers) == ("ok", 0, b"answer", [])
    assert (OUTCOMES[bad.outcome], bad.status, bad.body) == ("wrong_status", 1, b"boom")


def test_an_operation_that_there_is_not_is_the_callers_mistake(path: Path) -> None:
    driver = ScriptDriver(path, [ANY])
    with pytest.raises(IndexError):
        driver.drive(sequence(1))
    with pytest.raises(IndexError):
        driver.fetch(1)


def test_a_message_of_an_absurd_length_is_refused(path: Path) -> None:
    with FakeScriptHost(path, lambda _: []) as host:
        channel = Channel(path)
        channel.send(b"O")
        while not host.asked:
            pass
        host._connections[0].sendall(struct.pack("<I", 0xFFFFFFFF))
        with pytest.raises(ConnectionError, match="4294967295 bytes"):
            channel.receive(1.0)
        channel.close()
