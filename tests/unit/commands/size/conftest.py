"""Simulations are shortened here: what they tell is tested in tests/unit/stats/capacity, what is
made of it here."""

from collections.abc import Iterator

import pytest

from phpdyno.commands.size.decision import models
from phpdyno.stats.capacity.queueing import replications


@pytest.fixture(autouse=True, scope="module")
def short_simulations() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "RESAMPLED", 3)
        patch.setattr(replications, "LEAST_WARM_UP", 200)
        patch.setattr(replications, "LEAST_COUNTED", 1_200)
        yield
