"""A plan: what is compared on which workload, by which metric and margin, within which budget. Frozen before anything starts."""

from typing import Literal

from msgspec import Struct

from phpdyno.model.arm import Arm
from phpdyno.model.workload import Workload

Metric = Literal["cpu"]
"""`cpu`: CPU nanoseconds of the arm's php-fpm processes per valid request."""

Transport = Literal["http", "fastcgi"]
"""`http`: HTTP/1.1 keep-alive through nginx; `fastcgi`: straight to php-fpm."""


class AppSource(Struct, frozen=True):
    """How the app was named on the command line, with absolute paths, so that a resumed run prepares the same one."""

    reference: str = ""
    docroot: str = ""
    urls: tuple[str, ...] = ()


class Plan(Struct, frozen=True):
    """Everything that was decided before measuring.

    `margin` is the relevance margin as a fraction (0.01 = 1 %). `confidence` holds for all treatments together: each gets
    alpha = (1 - confidence) / len(treatments). `budget_s` bounds the whole measurement, starts and warm-up included.
    `slot_requests` None: chosen from the control's own cost. Orders, coins and targets all follow from `seed`.
    Declared beforehand: a block with more than `max_steal` of its time stolen does not count, nor one with a failed request; an arm with
    more than `max_failed_blocks` such failures is invalid.
    """

    app: str
    app_version: str
    workload: Workload
    control: Arm
    treatments: tuple[Arm, ...]
    metric: Metric = "cpu"
    margin: float = 0.01
    confidence: float = 0.95
    budget_s: float = 300.0
    seed: int = 1
    transport: Transport = "http"
    concurrency: int = 1
    slot_requests: int | None = None
    source: AppSource = AppSource()
    max_steal: float = 0.10
    max_failed_blocks: int = 2

    @property
    def alpha(self) -> float:
        """Error probability of one treatment's interval: Bonferroni over the treatments, fixed before starting."""
        return (1.0 - self.confidence) / max(1, len(self.treatments))
