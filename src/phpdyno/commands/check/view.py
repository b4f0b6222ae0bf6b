"""A check in words."""

from collections.abc import Iterator, Sequence

from phpdyno.commands.check.found import CheckFound, TargetFound
from phpdyno.model.notices import through_words
from phpdyno.report.advice import ReachAdvice, advise
from phpdyno.report.reached import without_words

HEADS = ("target", "status", "bytes", "time", "PHP CPU", "moves")


def rows(found: CheckFound) -> Iterator[tuple[str, ...]]:
    """The cells of the table, a row for each target."""
    for target in found.targets:
        yield (
            target.label,
            "–" if target.status is None else str(target.status),
            "–" if target.body_bytes is None else f"{target.body_bytes:,}",
            _ms(target.time_ms),
            _ms(target.php_ms),
            "–" if target.moving is None else f"{target.moving:.1%}" if target.moving else "nothing",
        )


def head(found: CheckFound) -> Iterator[str]:
    """Give the lines above the table, which must be known before all else."""
    if found.bottle:
        yield f"without a bottle ({found.bottle}): what the app reaches for is this host's"
    yield from found.notices
    if found.let_through:
        yield through_words(found.let_through)


def lines(found: CheckFound) -> Iterator[str]:
    """What stands below the table."""
    for target in found.targets:
        yield from _of_target(target)
    if found.remark:
        yield found.remark
    for each in found.not_reached:
        yield f"let through and not reached: {each}"
    told = advise(found.reached, given=found.let_through) if found.reached is not None else ()
    yield from _reached(found, told)
    bad = sum(bool(target.problem) for target in found.targets)
    if bad:
        yield f"{found.app}: cannot be measured: {bad} of {len(found.targets)} targets fail"
        return
    unsure = not found.bottle and any(each.missing for each in told)
    yield f"{found.app}: can be measured" + (
        ", but look first whether these are its normal pages: servers gave no answer" if unsure else ""
    )


def _of_target(target: TargetFound) -> Iterator[str]:
    if target.problem:
        yield f"{target.label} cannot be measured: {target.problem}"
    for warning in target.warnings:
        yield f"{target.label}: {warning}"


def _reached(found: CheckFound, told: Sequence[ReachAdvice]) -> Iterator[str]:
    if found.reached is None:
        yield f"what the app reaches for was not watched: {found.unwatched}"
        return
    if not told:
        yield "it reached for nothing outside its own files and database"
        return
    yield f"in {found.reached.requests} requests it reached for:"
    for each in told:
        yield f"  {each.often} {each.what}" if found.bottle else f"  {each.line}"
    if not found.bottle:
        yield from filter(None, [without_words(told, next_step="")])
        yield "all of that was blocked; `[service.NAME]` in an app.toml gives the app servers of its own"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} ms"
