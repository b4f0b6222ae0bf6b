"""When the tests themselves may do without something."""

import pytest

from tests.support.optional import INSTALLED, absent, needs


def test_without_something_a_test_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(INSTALLED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="there is no wrk"):
        absent("there is no wrk")
    assert needs(None, "there is no wrk").mark == pytest.mark.skipif(True, reason="there is no wrk").mark
    assert needs("/usr/bin/wrk", "there is no wrk").mark == pytest.mark.skipif(False, reason="there is no wrk").mark


def test_where_everything_was_installed_nothing_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSTALLED, "yes")
    with pytest.raises(pytest.fail.Exception, match="there is no wrk; it was installed"):
        absent("there is no wrk")
    with pytest.raises(pytest.fail.Exception, match="there is no wrk; it was installed"):
        needs(None, "there is no wrk")
    assert needs("/usr/bin/wrk", "there is no wrk").args == (False,)
