"""A check in words."""

from collections.abc import Iterator, Sequence

from phpdyno.commands.check.found import CheckFound, TargetFound
from phpdyno.model.notices import through_words
from phpdyno.report.advice import ReachAdvice, advise
from phpdyno.report.reached import without_words
from phpdyno.report.words import count

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
    """All that stands below the table of --verbose."""
    for target in found.targets:
        yield from _of_target(target)
    yield from filter(None, [found.remark])
    yield from (f"let through and not reached: {each}" for each in found.not_reached)
    head, *rows = reached_lines(found)
    yield head
    yield from (f"  {each}" for each in rows)
    yield from filter(None, [missing_words(found)])


def reached_lines(found: CheckFound) -> list[str]:
    """What the app reached for: a headline, and a line for each; the next step for all of them last
    where none has one of its own."""
    if found.reached is None:
        return [f"what the app reaches for was not watched: {found.unwatched}"]
    told = _advice(found)
    if not told:
        return ["it reached for nothing outside its own files and database"]
    head = f"in {count(found.reached.requests, 'request')} it reached for:"
    if found.bottle:
        return [head, *(f"{each.often} {each.what}" for each in told)]
    return [
        head,
        *(each.line for each in told),
        "all of that was blocked; `[service.NAME]` in an app.toml gives the app servers of its own",
    ]


def reached_in_short(found: CheckFound) -> str:
    """The same in one paragraph, without next steps."""
    told = _advice(found)
    return f"it reached for {'; '.join(each.what for each in told)} (what to do: --verbose)" if told else reached_lines(found)[0]


def missing_words(found: CheckFound) -> str:
    """Which servers gave the app no answer; '' where none was missing, or it has this host's."""
    return "" if found.bottle else without_words(_advice(found), next_step="")


def _advice(found: CheckFound) -> Sequence[ReachAdvice]:
    return advise(found.reached, given=found.let_through) if found.reached is not None else ()


def _of_target(target: TargetFound) -> Iterator[str]:
    if target.problem:
        yield f"{target.label} cannot be measured: {target.problem}"
    for warning in target.warnings:
        yield f"{target.label}: {warning}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} ms"
