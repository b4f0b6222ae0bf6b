"""What goes on top of a ladder's best build, on real servers: which scripts php-fpm can preload,
and what it maps."""

import os
from pathlib import Path

import pytest

from phpdyno.apps.registry import open_app
from phpdyno.commands.ladder.top import look_at, top_of
from phpdyno.model.plan import AppSource, Plan
from phpdyno.model.runs.ladder import STOCK, LadderStep
from phpdyno.model.workload import Target, Workload
from phpdyno.session.arms import make_arms
from tests.support.fakes.fake_study import FakeProgress

pytestmark = pytest.mark.integration
LONG_AGO = 1_700_000_000
SCRIPTS = {
    "index.php": "require 'page.php'; require 'late.php'; echo page();",
    "page.php": "function page(): string { return '<p>' . late() . '</p>' . str_repeat('<p>same</p>', 50); }",
    # Preloaded, it is declared before it is asked for.
    "late.php": "$late = function_exists('late'); if (!$late) { eval('function late(): string { return \"as ever\"; }'); }",
    "early.php": "if (class_exists('Early', false)) { echo 'early'; } else { require 'declared.php'; echo 'late'; }",
    "declared.php": "class Early {}",
}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Of a site whose answer differs once declared.php is preloaded."""
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(f"<?php\n{text}\n")
        # opcache leaves out what has just been written (opcache.file_update_protection).
        os.utime(tmp_path / name, (LONG_AGO, LONG_AGO))
    reference = str(tmp_path / "app.toml")
    Path(reference).write_text('name = "preloads"\ndocroot = "."\n\n[[target]]\npath = "/"\n\n[[target]]\npath = "/early.php"\n')
    control = make_arms("", (), aa=True, app=open_app(reference)).control
    return Plan(
        app="preloads",
        app_version="1",
        workload=Workload((Target("/"), Target("/early.php"))),
        control=control,
        treatments=(),
        source=AppSource(reference=reference),
    )


def test_what_is_preloaded_changes_no_answer(plan: Plan, tmp_path: Path) -> None:
    bottom = LadderStep(STOCK, "")
    seen = look_at(bottom, plan, logs=tmp_path / "logs", progress=FakeProgress())
    assert set(seen.loaded) == set(SCRIPTS)
    assert set(seen.safe.passed) == set(SCRIPTS) - {"declared.php"}
    assert seen.facts.opcache is not None
    top = top_of(bottom, seen, memory_kib=1 << 24, reservable=True)
    assert [each.name for each in top.steps] == ["huge text pages", "JIT", "JIT and preloading", "JIT and huge pages"]
    assert top.notes == ("preloading: 1 of 5 scripts are left out, as a start fails or an answer differs",)
    # 128 MiB of scripts, as the distribution has it, the JIT's buffer, the code.
    assert top.steps[-1].spec.rpartition("=")[2] == str(96 + -(-seen.code_kib[0] // 2048))
