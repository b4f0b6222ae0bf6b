"""What a tune may go on with: the same PHP, the same files of a running pool; and how much of the budget is used up."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from phpdyno.errors import DynoError
from phpdyno.journal.reader import FILE
from phpdyno.journal.records import Preflight
from phpdyno.journal.writer import JournalWriter
from phpdyno.stack.live_pool import LivePool
from phpdyno.stack.php import IniFiles
from phpdyno.workflows.specs import Imported
from phpdyno.workflows.tune import digests_of, refuse_changed_tune
from phpdyno.workflows.tune_parts import spent_in_parts
from tests.support.bundles import HOST
from tests.support.journals import JIT, blocks, opening, plan
from tests.support.tunes import record

INI = "/etc/php/8.2/fpm/php.ini"


def imported(text: str) -> Imported:
    return Imported(LivePool("www", {}, {}, ()), IniFiles("", (), ""), {INI: text})


BEFORE = record(based_on=digests_of(imported("memory_limit = 128M\n")))


def resumed(change: Callable[[Any, Any], tuple[Any, Any]] = lambda control, live: (control, live)) -> None:
    """Go on with BEFORE after a change to the control or to the running pool."""
    control, live = change(BEFORE.control, imported("memory_limit = 128M\n"))
    subject: Any = SimpleNamespace(controls=(control, control))
    lab: Any = SimpleNamespace(app=SimpleNamespace(version=BEFORE.app_version), live=live)
    refuse_changed_tune(BEFORE, subject, lab, Preflight(HOST, ()))


def test_what_is_as_it_was_is_gone_on_with() -> None:
    resumed()


def test_another_php_is_refused() -> None:
    with pytest.raises(DynoError, match=r"PHP 8\.2\.29 or one of its extensions is not the one that this tune began with"):
        resumed(lambda control, live: (structs.replace(control, php=structs.replace(control.php, build_id="f00d")), live))
    with pytest.raises(DynoError, match="one of its extensions"):
        resumed(lambda control, live: (structs.replace(control, php=structs.replace(control.php, extensions={"/x.so": "f00d"})), live))


def test_a_file_of_the_running_pool_that_was_edited_meanwhile_is_named() -> None:
    with pytest.raises(DynoError, match="has changed since this tune began") as raised:
        resumed(lambda control, _: (control, imported("memory_limit = 1G\n")))
    assert raised.value.where == INI


def test_the_parts_know_what_the_record_was_not_told_before_a_hard_end(tmp_path: Path) -> None:
    for name in ("screen-1", "race-1"):
        (tmp_path / name).mkdir()
        with JournalWriter(tmp_path / name / FILE) as journal:
            for each in (*opening(plan(JIT)), *blocks({JIT.name: 1.05}, 3)):
                journal.append(each)
    (tmp_path / "try-1").mkdir()
    (tmp_path / "try-1" / FILE).write_text("")
    assert spent_in_parts(tmp_path) == pytest.approx(2 * (16.5 + 2 * 5.0))
