"""What is known of an instance at the moment one of its requests fails."""

from types import SimpleNamespace
from typing import Any

from phpdyno.experiment.common.stage import RequestFailed


def instance(crash: str = "") -> Any:
    """A fake that has crashed or not, and that ends when it is stopped, as a real one does."""
    held = SimpleNamespace(arm=SimpleNamespace(name="control"), ended="")
    held.crashes = lambda: crash
    held.broken = lambda: held.ended
    held.complaint = lambda: crash or held.ended
    return held


def test_an_instance_that_is_stopped_afterwards_has_not_crashed() -> None:
    failing = instance()
    failure = RequestFailed(failing, "calibrating: 1 timeout")
    failing.ended = "php-fpm ended by SIGTERM"
    assert (failure.crashed, failure.what) == ("", "calibrating: 1 timeout")


def test_a_crash_is_known_by_the_instance_that_failed_not_by_its_arm() -> None:
    failure = RequestFailed(instance("child 7 exited on signal 11"), "calibrating: 1 closed_early")
    assert failure.crashed == "child 7 exited on signal 11"
    assert failure.what == "calibrating: 1 closed_early; child 7 exited on signal 11"


def test_what_explains_a_failure_is_said_once() -> None:
    assert RequestFailed(instance("out of memory"), "1 closed_early: out of memory").what == "1 closed_early: out of memory"
