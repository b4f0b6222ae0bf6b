"""Stacks with their counts, and what is made of them."""

from collections import Counter
from pathlib import Path

import pytest

from phpdyno.explain.functions.php import Looks, profile_in, roots_of
from phpdyno.explain.functions.php_memory import OUTSIDE
from phpdyno.explain.functions.php_worker import CannotProfile
from phpdyno.explain.functions.stacks import profile_of, shortened
from phpdyno.model.app import PreparedApp
from phpdyno.model.workload import Workload


def test_paths_are_relative_to_the_root_and_equal_stacks_together() -> None:
    stacks = {
        ("/seen/app/index.php", "{closure:/live/app/x.php}"): 1,
        ("/live/app/index.php", "{closure:/live/app/x.php}"): 2,
        ("/live/application/other.php",): 1,
    }
    assert shortened(stacks, ["/seen/app/", "/live/app"]) == {
        ("index.php", "{closure:x.php}"): 3,
        ("/live/application/other.php",): 1,
    }


def test_own_and_inclusive_shares_count_a_recursive_function_once() -> None:
    profile = profile_of("arm", "wall", {("i", "f", "g"): 6, ("i", "f", "f"): 3, ("i",): 1}, period_us=100.0, requests=4)
    assert profile.samples == 10
    assert profile.request_us == 250.0
    assert [(each.name, each.own, each.inclusive) for each in profile.functions] == [("g", 0.6, 0.6), ("f", 0.3, 0.9), ("i", 0.1, 1.0)]
    assert [each.samples for each in profile.stacks] == [6, 3, 1]
    empty = profile_of("arm", "cpu", {}, period_us=100.0, requests=4)
    assert (empty.samples, empty.functions, empty.request_us) == (0, (), 0.0)


def test_what_looks_say_of_a_request() -> None:
    looks = Looks(Counter({("/app/i.php", "f"): 6, (OUTSIDE,): 2}), Counter({("/app/i.php", "f"): 3}), looks=20, unread=1, seconds=0.04)
    found = profile_in("arm", looks, ["/app"], requests=8)
    assert (found.wall.samples, found.cpu.samples, found.wall.requests) == (8, 3, 8)
    assert found.wall.period_us == pytest.approx(2000.0)
    assert found.wall.stacks[0].frames == ("i.php", "f")
    assert any("5 % of the looks" in note for note in found.notes)
    with pytest.raises(CannotProfile, match="no PHP function was met"):
        profile_in("arm", Looks(Counter({(OUTSIDE,): 2}), looks=20, seconds=0.04), [], requests=8)


def test_where_an_apps_files_lie() -> None:
    live = Path("/tmp/live")
    plain = PreparedApp("a", live / "app" / "public", Workload(()))
    assert roots_of(plain, live) == ["/tmp/live/app"]
    rooted = PreparedApp("a", Path("/srv/a/web"), Workload(()), root=Path("/srv/a"), place=live / "copy", seen_at=Path("/data/a"))
    assert roots_of(rooted, live) == ["/data/a", "/tmp/live/copy"]
