"""Drives one instance: one slot at a time, and single fetches whose whole answer is kept."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES, Engine, Response, Samples
from phpdyno._native import Target as NativeTarget

MAX_FAILURES_PER_SLOT = 3
RESPONSE_TIMEOUT_NS = 30_000_000_000


class Driver:
    """The generator's side of one instance. `address` is `unix:/path` or `tcp:HOST:PORT`."""

    def __init__(self, address: str, targets: Sequence[NativeTarget], *, keep_alive: bool, concurrency: int = 1) -> None:
        self._engine = Engine(address, targets, keep_alive=keep_alive, response_timeout_ns=RESPONSE_TIMEOUT_NS)
        self.concurrency = concurrency

    def drive(self, sequence: NDArray[np.uint32]) -> Samples:
        """One slot: send the targets of `sequence`, closed loop."""
        return self._engine.run(sequence, concurrency=self.concurrency, max_failures=MAX_FAILURES_PER_SLOT)

    def fetch(self, target: int) -> Response:
        """One request, the whole answer kept."""
        return self._engine.fetch(target)

    def close(self) -> None:
        """Close its connections."""
        self._engine.close()


def failures(samples: Samples) -> str:
    """Requests without a valid answer, by kind, in words (`2 closed_early, 1 wrong_status (502)`); '' when there are none."""
    if not samples.outcome.any():
        return ""
    kinds: Counter[str] = Counter()
    for outcome, status in zip(samples.outcome.tolist(), samples.status.tolist(), strict=True):
        if outcome:
            kinds[OUTCOMES[outcome] + (f" ({status})" if OUTCOMES[outcome] == "wrong_status" else "")] += 1
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
