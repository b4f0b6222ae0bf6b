"""What the tests themselves take for a leftover."""

from pathlib import Path

import pytest

from tests.support import traces


def test_a_cgroup_is_left_over_when_no_session_of_the_tests_has_its_live_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups, lives = tmp_path / "cgroup", tmp_path / "tmp"
    ours, theirs = lives / f"{traces.SESSION_PREFIX}ours", lives / f"{traces.SESSION_PREFIX}theirs"
    monkeypatch.setattr(traces, "CGROUP_ROOTS", (str(groups),))
    monkeypatch.setattr(traces, "DEFAULT_LIVE_ROOT", lives)
    monkeypatch.setenv("PHPDYNO_LIVE", str(ours))
    for place in (theirs / "phpdyno-theirs", lives / "phpdyno-beside", ours):
        place.mkdir(parents=True)
    for name in ("phpdyno-theirs", "phpdyno-beside", "phpdyno-gone"):
        (groups / name).mkdir(parents=True)
    assert [trace for trace in traces.traces_of() if trace.startswith("cgroup")] == [f"cgroup {groups / 'phpdyno-gone'}"]
