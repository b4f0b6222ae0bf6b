"""A signal that arrives in the middle of what must not be torn is raised after it, and never
lost."""

import signal
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from phpdyno.experiment.common.samples import save_samples
from phpdyno.experiment.comparison.block import BlockReading
from phpdyno.journal.unbroken import unbroken


def test_a_signal_in_the_middle_is_raised_at_the_end() -> None:
    done: list[str] = []

    def use() -> None:
        with unbroken():
            signal.raise_signal(signal.SIGINT)
            done.append("to its end")

    with pytest.raises(KeyboardInterrupt):
        use()
    assert done == ["to its end"]


def test_a_signal_is_not_lost_where_an_error_leaves_the_middle() -> None:
    def use() -> None:
        with unbroken():
            signal.raise_signal(signal.SIGINT)
            raise OSError("disk full")

    with pytest.raises(KeyboardInterrupt) as caught:
        use()
    assert isinstance(caught.value.__context__, OSError)


def test_handlers_are_as_they_were_before() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    with unbroken():
        pass
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.fixture
def no_hang_up() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


def test_a_signal_that_is_ignored_stays_so(no_hang_up: None) -> None:
    with unbroken():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        signal.raise_signal(signal.SIGHUP)


def test_another_thread_may_use_it_too() -> None:
    done: list[bool] = []

    def use() -> None:
        with unbroken():
            done.append(True)

    thread = Thread(target=use)
    thread.start()
    thread.join()
    assert done == [True]


def test_an_interrupt_while_samples_are_compressed_is_an_interrupt_and_the_file_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return compressobj(*args, **named)

    compressobj = zlib.compressobj
    monkeypatch.setattr(zlib, "compressobj", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_samples(tmp_path, 7, BlockReading(pairs=(), failed={}, steal_fraction=0.0), ("a",))
    path = tmp_path / "samples" / "block-0007.npz"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    assert list(np.load(path)["treatments"]) == ["a"]
