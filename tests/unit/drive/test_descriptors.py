"""A limit of open files that is too low is said before the load starts, with the remedy."""

import resource

import pytest

from phpdyno.drive.descriptors import require_descriptors
from phpdyno.errors import DynoError


def limits(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))


def test_enough_is_nothing_to_speak_of(monkeypatch: pytest.MonkeyPatch) -> None:
    limits(monkeypatch, 4096, 4096)
    require_descriptors(1000)
    limits(monkeypatch, resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    require_descriptors(10**6)


@pytest.mark.parametrize(("hard", "remedy"), [(8192, r"ulimit -n 1\d{3}, or fewer"), (1024, "as root: the hard limit is 1024")])
def test_too_few_are_said_with_the_ulimit_that_helps(hard: int, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits(monkeypatch, 1024, hard)
    with pytest.raises(DynoError, match=remedy) as caught:
        require_descriptors(1000)
    assert "1000 connections need" in str(caught.value)
    assert "may open 1024" in str(caught.value)
