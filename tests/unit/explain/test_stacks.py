"""Folded stacks, and what is made of them."""

import subprocess
from pathlib import Path

import pytest

from phpdyno.explain.php_functions import FIRST, own_prepend, period_for, php_array, roots_of
from phpdyno.explain.stacks import profile_of, read_folded, shortened
from phpdyno.model.app import PreparedApp
from phpdyno.model.workload import Workload
from phpdyno.stack.php import newest_cli
from tests.support.optional import needs

FOLDED = """\
/srv/app/index.php;f;g 3
;/srv/app/index.php;f 2
;/srv/app/index.php;f;g 4
;/srv/app/index.php;f;f 1
;/srv/app/with space.php;{closure:/srv/app/lib/a.php(6)} 10

cut off;in the mid
nothing
 7
"""
INDEX = "/srv/app/index.php"


def test_lines_as_excimer_writes_them_equal_stacks_together() -> None:
    assert read_folded(FOLDED) == {
        (INDEX, "f", "g"): 7,
        (INDEX, "f"): 2,
        (INDEX, "f", "f"): 1,
        ("/srv/app/with space.php", "{closure:/srv/app/lib/a.php(6)}"): 10,
    }
    assert read_folded("") == {}


def test_paths_are_relative_to_the_root_and_our_own_frames_are_gone() -> None:
    stacks = {
        ("/live/prepend.php", "/live/app/waf.php"): 2,
        ("/live/prepend.php",): 5,
        ("/seen/app/index.php", "{closure:/live/app/x.php(1)}"): 1,
        ("/live/application/other.php",): 1,
    }
    assert shortened(stacks, ["/seen/app/", "/live/app"], {"/live/prepend.php"}) == {
        ("waf.php",): 2,
        ("index.php", "{closure:x.php(1)}"): 1,
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


def test_a_long_request_is_sampled_less_often() -> None:
    assert [period_for(each) for each in (1, 600_000, 2_000_000, 80_000_000)] == [50.0, 60.0, 200.0, 1000.0]


@pytest.mark.parametrize(
    ("settings", "app", "files", "found"),
    [
        ({}, {}, {}, ("", False)),
        ({}, {}, {"auto_prepend_file": "/etc/waf.php"}, ("/etc/waf.php", False)),
        ({}, {"auto_prepend_file": "app.php"}, {"auto_prepend_file": "/etc/waf.php"}, ("app.php", False)),
        ({"ini.auto_prepend_file": ""}, {"auto_prepend_file": "app.php"}, {}, ("", False)),
        ({"pool.php_value[auto_prepend_file]": "pool.php", "ini.auto_prepend_file": "ini.php"}, {}, {}, ("pool.php", False)),
        ({FIRST: "admin.php", "pool.php_value[auto_prepend_file]": "pool.php"}, {}, {}, ("admin.php", True)),
    ],
)
def test_the_script_that_an_arm_has_before_requests_without_us(
    settings: dict[str, str], app: dict[str, str], files: dict[str, str], found: tuple[str, bool]
) -> None:
    assert own_prepend(settings, app, files) == found


@needs(newest_cli(), "no command-line PHP is installed")
def test_settings_are_written_as_php_reads_them() -> None:
    values: dict[str, str | float | bool] = {"a": "it's \\ $HOME", "b": 0.5, "c": True}
    code = f"echo json_encode({php_array(values)});"
    told = subprocess.run([newest_cli() or "", "-n", "-r", code], capture_output=True, check=True)
    assert told.stdout == rb'{"a":"it' + rb"'s \\ $HOME" + rb'","b":0.5,"c":true}'


def test_where_an_apps_files_lie() -> None:
    live = Path("/tmp/live")
    plain = PreparedApp("a", live / "app" / "public", Workload(()))
    assert roots_of(plain, live) == ["/tmp/live/app"]
    rooted = PreparedApp("a", Path("/srv/a/web"), Workload(()), root=Path("/srv/a"), place=live / "copy", seen_at=Path("/data/a"))
    assert roots_of(rooted, live) == ["/data/a", "/tmp/live/copy"]
