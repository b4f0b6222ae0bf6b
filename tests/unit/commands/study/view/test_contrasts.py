"""A contrast of two treatments: paired by block, against simulated controls that drift."""

import math
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from phpdyno.commands.compare.view.gather import gather
from phpdyno.commands.study.view.comparisons import comparison_figures
from phpdyno.commands.study.view.contrasts import contrast_of, paired, quotient
from phpdyno.journal.records import BlockDone, Record
from phpdyno.model.runs.study import Contrast
from tests.support.made_up.studies import NO_OPCACHE, TCP, loaded_journal, record_of, small_study

WANTED = Contrast("tcp against no opcache", "tcp", "no opcache")


def drifting(sigma: float, number: int = 20) -> list[Record]:
    """In every block what the control drew moves both ratios alike, by so much."""
    rng = np.random.default_rng(8)

    def moved(block: BlockDone) -> BlockDone:
        shift = float(rng.normal(0.0, sigma))
        seen = [
            structs.replace(each, log_ratio=each.log_ratio + shift, clipped_log_ratio=each.clipped_log_ratio + shift)
            for each in block.observations
        ]
        return structs.replace(block, observations=tuple(seen))

    return [moved(record) if isinstance(record, BlockDone) else record for record in loaded_journal(number)]


def test_what_the_control_drew_cancels_out(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    study = structs.replace(study, contrasts=(*study.contrasts, WANTED))
    wanted = study.comparisons[0]
    part = record_of(study).parts[0]
    gathered = gather(drifting(0.05), wanted.name)
    figures = comparison_figures(study, wanted, part, gathered)
    arms = {each.arm: each for each in figures.arms}
    whole = quotient(arms["tcp"], arms["no opcache"])
    found = contrast_of(study, figures, gathered, WANTED)
    assert found is not None
    assert whole is not None
    assert found == paired(study, figures, gathered, WANTED)
    assert found.low < 9.0 < found.high  # 0.9 / 0.1
    assert math.log(found.high / found.low) < 0.8 * math.log(whole.high / whole.low)
    # Against the control the treatment's own interval stands, turned over.
    against_control = Contrast("", "control", "no opcache")
    assert paired(study, figures, gathered, against_control) is None
    assert contrast_of(study, figures, gathered, against_control) == quotient(arms["control"], arms["no opcache"])


def test_blocks_that_only_one_of_them_has_do_not_pair(tmp_path: Path) -> None:
    study = structs.replace(small_study(tmp_path), contrasts=(WANTED,))
    wanted = study.comparisons[0]
    alternating = [
        structs.replace(
            record, observations=tuple(each for each in record.observations if each.treatment == (NO_OPCACHE, TCP)[record.block % 2])
        )
        if isinstance(record, BlockDone)
        else record
        for record in loaded_journal(40)
    ]
    gathered = gather(alternating, wanted.name)
    figures = comparison_figures(study, wanted, record_of(study).parts[0], gathered)
    arms = {each.arm: each for each in figures.arms}
    assert paired(study, figures, gathered, WANTED) is None
    assert contrast_of(study, figures, gathered, WANTED) == pytest.approx(quotient(arms["tcp"], arms["no opcache"]))
