"""Requests of a log or a workload file that a build was trained on, kept for when it is made
anew."""

from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.model.workload import Target, Workload
from phpdyno.php_build.train.requests import keep_requests, kept_requests, traffic_digest

ASKED = Workload((Target("/?s=tea", 3.0, cookies={"session": "{env.SESSION}"}), Target("/feed", headers={"Accept": "*/*"})), "shop.example")
TRAFFIC = traffic_digest(ASKED)


def test_what_is_kept_is_what_was_asked_and_nobody_elses_to_read(tmp_path: Path) -> None:
    keep_requests(tmp_path, ASKED)
    keep_requests(tmp_path, ASKED)
    assert kept_requests(tmp_path, TRAFFIC) == ASKED
    assert (tmp_path / "requests").stat().st_mode & 0o077 == 0


def test_what_was_not_kept_is_told_from_what_is_damaged(tmp_path: Path) -> None:
    assert kept_requests(tmp_path, TRAFFIC) is None
    keep_requests(tmp_path, ASKED)
    path = tmp_path / "requests" / f"{TRAFFIC}.json"
    whole = path.read_text()
    path.write_text(whole[:40])
    with pytest.raises(DynoError, match=r"the requests of a build cannot be read: "):
        kept_requests(tmp_path, TRAFFIC)
    path.write_text(whole.replace("/feed", "/food"))
    with pytest.raises(DynoError, match=r"not those that it was trained on any more"):
        kept_requests(tmp_path, TRAFFIC)


def test_a_cache_that_takes_nothing_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "requests").write_text("")
    with pytest.raises(DynoError, match=r"cannot write the cache: "):
        keep_requests(tmp_path, ASKED)
