"""What a tune found, in words. A change is never said without its interval, or that there is none
yet."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from phpdyno.model.runs.tune import Change, ChangeEffect, ChangeStanding, Confirmed, Goal, PartFound, Race, Racer, StageName, TunedRatio
from phpdyno.report.change_words import change_seen, change_words
from phpdyno.report.words import HERE, count, milliseconds, percent
from phpdyno.stats.change import said

BETTER: dict[Goal, tuple[str, str]] = {
    "cpu": ("less CPU per request", "more CPU per request"),
    "throughput": ("more requests per second", "fewer requests per second"),
    "p99": ("lower 99th percentile of the service time", "higher 99th percentile of the service time"),
    "memory": ("less memory per worker", "more memory per worker"),
}
"""What better and worse mean."""

STAGES: dict[StageName, str] = {
    "screen": "screening",
    "race": "race",
    "numeric": "numbers",
    "confirm": "confirmation",
    "ablate": "part by part",
    "again": "confirmation of what remained",
    "throughput": "pool and web server",
}


def confirmed_words(found: Confirmed) -> str:
    """`6.8 % less CPU per request (95 % CI 5.8 to 7.7 %), 21 blocks; …: improved, relevant`."""
    ratio = found.ratio
    if found.kind == "invalid":
        return f"no number ({found.reason}): invalid"
    if ratio is None or ratio.low is None or ratio.high is None:
        blocks = count(ratio.blocks, "block") if ratio else "no block"
        return f"interval still infinite ({blocks}): inconclusive"
    return f"{brought_words(ratio, found.goal, found.confidence)}, {count(ratio.blocks, 'block')}; {HERE}: {kind_words(found)}"


def kind_words(found: Confirmed) -> str:
    """`improved, relevant`."""
    return found.kind + (f", {found.relevance}" if found.relevance else "")


def brought_words(ratio: TunedRatio, goal: Goal, confidence: float) -> str:
    """`6.8 % less CPU per request (95 % CI 5.8 to 7.7 %)`."""
    less, more = BETTER[goal] if goal != "throughput" else BETTER[goal][::-1]
    return said(change_seen(ratio, goal), less, more, percent(round(confidence, 6)))


def part_words(part: PartFound, goal: Goal) -> str:
    """What a part adds: `−2.1 % (−3.3 to −0.8): kept: it adds to the rest`."""
    return f"{change_words(part.ratio, goal)}: {part.reason}"


def settings_words(settings: Mapping[str, str]) -> str:
    """`ini.opcache.jit=tracing; ini.opcache.jit_buffer_size=64M`."""
    return "; ".join(f"{name}={value}" for name, value in settings.items()) or "nothing changed"


def before_after(found: Confirmed) -> tuple[tuple[str, str, str], ...]:
    """What it was, before and after, in words; none where nothing was measured."""
    if found.before is None or found.after is None:
        return ()
    one, other = found.before, found.after
    rows = [
        ("CPU of PHP per request, ms", milliseconds(one.cpu_ms), milliseconds(other.cpu_ms)),
        *(
            (f"service time {name}, ms", milliseconds(was), milliseconds(now))
            for name, was, now in (("p50", one.p50_ms, other.p50_ms), ("p99", one.p99_ms, other.p99_ms))
            if was is not None and now is not None
        ),
    ]
    if one.worker_kib is not None and other.worker_kib is not None:
        rows.append(("private memory of a worker, MiB", f"{one.worker_kib / 1024:.1f}", f"{other.worker_kib / 1024:.1f}"))
    return tuple(rows)


def standing_words(effect: ChangeEffect) -> str:
    """What the screening says of a change."""
    words = {
        "helps": "helps",
        "open": "open",
        "too small": "too small to matter",
        "hurts": "does harm",
        "unknown": "was not measured",
    }
    return words[effect.standing]


def tried_words(changes: Sequence[Change]) -> str:
    """After every change was tried alone: `tried 14 changes: 12 work, 2 take no part`."""
    refused = sum(1 for each in changes if each.refused)
    said = f"tried {count(len(changes), 'change')}: {len(changes) - refused} to be measured"
    return f"{said}, {refused} without effect, refused or answering differently" if refused else said


def screened_words(effects: Sequence[ChangeEffect], goal: Goal) -> str:
    """After the screening: how many help, and which best."""
    number = Counter(each.standing for each in effects)
    words: dict[ChangeStanding, str] = {
        "helps": "help",
        "open": "are open",
        "too small": "are too small to matter",
        "hurts": "do harm",
        "unknown": "were not measured",
    }
    said = ", ".join(f"{number[standing]} {word}" for standing, word in words.items() if number[standing])
    best = effects[0] if effects else None
    return f"screened: {said}" + (f"; best {best.name}: {change_words(best.ratio, goal)}" if best else "")


def raced_words(race: Race | None, goal: Goal) -> str:
    """After the race: who won."""
    if race is None or not race.winner:
        return "race: nothing is better than the control"
    best = race.racers[0]
    return f"race: {best.name}: {change_words(best.ratio, goal)} over {count(race.blocks, 'block')} ({race.end})"


def outcome_words(confirmed: Iterable[Confirmed], racers: Iterable[Racer], settings: Mapping[str, str], goal: Goal) -> str:
    """The last line: what was adopted and what it brings, or that nothing was."""
    adopted = [each for each in confirmed if each.decision == "adopted"]
    if adopted:
        return f"{settings_words(settings)}: {confirmed_words(adopted[-1])}"
    if settings:
        return f"{settings_words(settings)}: adopted for throughput, see above"
    tried = [each for each in confirmed if each.decision != "adopted"]
    if tried:
        return f"nothing is adopted: {tried[-1].name}: {confirmed_words(tried[-1])}" + (f"; {tried[-1].reason}" if tried[-1].reason else "")
    raced = any(True for _ in racers)
    why = "nothing that raced was better than the control" if raced else "nothing that was tried may help by the margin"
    return f"nothing is adopted: {why} ({BETTER[goal][0]})"
