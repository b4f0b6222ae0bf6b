"""What is asked of an app: targets, their weights, and what a valid answer is."""

from typing import Literal

from msgspec import Struct

AnswerCheck = Literal["body", "status"]
"""How answers are compared between arms: the normalised body, or (declared by the target, shown in the report) the status only."""

OPERATION_DONE = 0
OPERATION_FAILED = 1
"""Status of a script's operation: it returned, or it threw."""


class Target(Struct, frozen=True, forbid_unknown_fields=True):
    """One request template: GET `path` (with its query), drawn in proportion to `weight`, valid when it answers `status`.

    Of a script, `path` is the name of an operation and `status` OPERATION_DONE.
    """

    path: str
    weight: float = 1.0
    status: int = 200
    answers: AnswerCheck = "body"


class Workload(Struct, frozen=True):
    """Weighted targets of one app, asked for as `host`."""

    targets: tuple[Target, ...]
    host: str = "localhost"
