"""A request to explain names an app as it is, the same beside one SPEC, or two SPECs beside each
other."""

from collections.abc import Sequence
from typing import get_args

from msgspec import structs

from phpdyno.apps.source import App
from phpdyno.commands.explain.passes import ExplainRequest
from phpdyno.errors import UsageError
from phpdyno.model.arm import PLAIN, Arm
from phpdyno.model.inside.explained import SectionKey
from phpdyno.session.arms import make_arms
from phpdyno.session.requirements import check_nginx, require_servers

MOST_SPECS = 2
MOST_COUNTED = 100_000
MOST_CONCURRENCY = 200


def arms_asked(specs: Sequence[str], app: App, wanted: ExplainRequest) -> tuple[Arm, ...]:
    """The arms: each SPEC on top of the distribution's settings; with one SPEC, those alone come
    first.

    Raises UsageError: more than two SPECs, a SPEC that cannot be, one that changes nothing;
    DynoError: a server is not installed.
    """
    if len(specs) > MOST_SPECS:
        raise UsageError(f"{len(specs)} SPECs are given", where=specs[MOST_SPECS], next_step="give none, one or two")
    wished = ("", *specs) if len(specs) == 1 else specs or ("",)
    made = [make_arms(spec, (), aa=True, app=app, workers=wanted.concurrency).control for spec in wished]
    if len(specs) == 1 and made[0].settings == made[1].settings and made[0].php == made[1].php:
        raise UsageError("this SPEC changes nothing", where=specs[0], next_step="give it twice to hold an arm against itself")
    changed = {key: value for key, value in made[-1].settings.items() if made[0].settings.get(key) != value}
    arms = tuple(structs.replace(arm, name=spec or PLAIN) for arm, spec in zip(made, wished, strict=True))
    arms = (*arms[:-1], structs.replace(arms[-1], changed=changed if len(arms) > 1 else {}))
    check_nginx(wanted.transport, wanted.concurrency)
    require_servers(wanted.transport, arms)
    return arms


def check_wanted(wanted: ExplainRequest) -> ExplainRequest:
    """The same. Raises UsageError for numbers that cannot be."""
    if not 1 <= wanted.counted_requests <= MOST_COUNTED:
        raise UsageError(f"{wanted.counted_requests} is not from 1 to {MOST_COUNTED}", where="--requests")
    if not 1 <= wanted.concurrency <= MOST_CONCURRENCY:
        raise UsageError(f"{wanted.concurrency} is not from 1 to {MOST_CONCURRENCY}", where="--concurrency")
    return wanted


def skipped_of(names: Sequence[str]) -> frozenset[SectionKey]:
    """The sections that an option left out, by the names that it has for them."""
    return frozenset(key for key in get_args(SectionKey) if key.replace("_", "-") in names)
