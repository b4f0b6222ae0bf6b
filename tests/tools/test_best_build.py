"""Section `best-build` without servers: how a study becomes figures."""

from pathlib import Path

import pytest
from msgspec import structs
from tools.bench.builds.best_build import TARGETS, figures_of
from tools.bench.figures import measured_text
from tools.bench.results import QUICK, Sizes
from tools.bench.stamp import ROOT

from phpdyno.commands.study.view.whole import study_view
from phpdyno.config.study.file import load_study
from tests.support.made_up.studies import cpu_journal, record_of, small_study


def test_every_arm_has_a_figure_against_the_control_and_every_contrast_one(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    by_cpu = [each for each in study.comparisons if each.name == "shop-cpu"]
    view = study_view(record_of(structs.replace(study, comparisons=tuple(by_cpu), passes=())), {"shop-cpu": cpu_journal(12)})
    arm, contrast = figures_of(view)
    assert arm.name == "CPU per request: no opcache, against the distribution's"
    assert "12 blocks" in measured_text(arm)
    assert contrast.name == "CPU per request: opcache on against off"
    assert contrast.estimate == pytest.approx(1 / arm.estimate)


def test_the_targets_are_of_arms_that_the_study_has() -> None:
    (comparison,) = load_study(ROOT / Sizes().best_study).comparisons
    assert set(TARGETS) <= set(comparison.treatments)
    (rehearsed,) = load_study(ROOT / QUICK.best_study).comparisons
    assert rehearsed.treatments
