"""What an explanation says in words and cells, for every report. Pure."""

from collections.abc import Iterator

from phpdyno.model.inside.explained import ON_CPU, Explained, Figure, Reading, Section, Unit
from phpdyno.report.words import NOTHING, milliseconds

UNIT_WORDS: dict[Unit, str] = {
    "ms": "ms",
    "KiB": "KiB",
    "calls": "calls",
    "count": "",
    "percent": "%",
    "instructions": "instructions",
}
_WHOLES = {
    "cpu": "CPU of a request",
    "wall": "a request in the worker",
    "instructions": "instructions of a request",
    "memory": "memory of a worker",
}
_TIMES = {"cpu": "CPU of {}", "wall": "{}"}
_SHOWN_PARTS = 4
_TIMES_FROM = 10
_FAR = 3.0
"""Times the spread."""
_LEAST_SHARE = 0.005


def title_of(found: Explained) -> str:
    """The title of a report of its own."""
    what = "Where a request's time goes" if len(found.arms) == 1 else "What the change did inside"
    return f"{what}: {found.app}" + (f" {found.app_version}" if found.app_version else "")


def heads(found: Explained) -> tuple[str, ...]:
    """The head of every table: one arm has its range and share, two have their difference."""
    if len(found.arms) == 1:
        return ("", "value", "share", "least to greatest")
    return ("", "A", "B", "B − A", "spread", "beyond it")


def rows(section: Section) -> Iterator[tuple[str, ...]]:
    """The cells of a section's table, a row for each figure."""
    whole = whole_of(section)
    for figure in section.figures:
        name = f"{figure.name}, {UNIT_WORDS[figure.unit]}" if _mixed(section) and UNIT_WORDS[figure.unit] else figure.name
        if len(figure.arms) == 1:
            yield (name, *_alone(figure, whole))
        else:
            yield (name, *(number(reading, figure.unit) for reading in figure.arms), *_compared(figure))


def whole_of(section: Section) -> Figure | None:
    """The first figure that is no part: what the parts before it add up to."""
    return next((each for each in section.figures if not each.part), None)


def unit_of(section: Section) -> str:
    """The unit that all figures of a section have; '' where they differ."""
    return "" if _mixed(section) or not section.figures else UNIT_WORDS[section.figures[0].unit]


def number(reading: Reading | None, unit: Unit) -> str:
    """A value with the digits that its unit deserves; a dash for none."""
    return NOTHING if reading is None else amount(reading.value, unit)


def amount(value: float, unit: Unit) -> str:
    """The same of a bare number, with its sign where it is below 0."""
    size = abs(value)
    sign = "−" if value < 0 else ""
    if unit == "ms":
        return sign + milliseconds(size)
    if unit in {"KiB", "instructions"}:
        return f"{sign}{size:,.0f}" if size >= 1 or not size else f"{sign}{size:.2g}"
    if unit == "percent":
        return f"{sign}{size:.2f}"
    return f"{sign}{size:,.0f}" if size >= 1000 or size == int(size) else f"{sign}{size:.4g}"


def signed(value: float, unit: Unit) -> str:
    """A difference: with a plus where it is above 0."""
    said = amount(value, unit)
    return f"+{said}" if value > 0 else said


def reading_by(section: Section) -> str:
    """How it was read, below the title."""
    return f"read by {section.read_by}"


def arm_lines(found: Explained) -> tuple[str, ...]:
    """Which arm is which; nothing for one alone."""
    return tuple(f"{letter}: {name}" for letter, name in zip("AB", found.arms, strict=False)) if len(found.arms) == 2 else ()


def scope(found: Explained) -> str:
    """What it rests on."""
    through = "through nginx" if found.transport == "http" else "straight to php-fpm"
    flight = "1 request" if found.concurrency == 1 else f"{found.concurrency} requests"
    spread = ""
    if len(found.arms) == 2:
        spread = (
            "; the spread is what chance alone makes of a difference, such that all differences of the page that lie beyond theirs are "
            "real with 95 % confidence"
        )
    return (
        f"{found.starts} fresh starts of every arm, {found.requests:,} measured requests to each, {flight} in flight, {through}; "
        f"values are medians over the starts{spread}"
    )


def answer(found: Explained) -> tuple[str, ...]:
    """What the page says, in plain sentences; the last thing that a reader sees."""
    unread = tuple(f"not read: {_lower(each.title)}: {each.unread}" for each in found.sections if each.unread)
    return (*unread, *(_alone_answer(found) if len(found.arms) == 1 else _compared_answer(found)))


def _lower(title: str) -> str:
    return title if title[:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def _alone(figure: Figure, whole: Figure | None) -> tuple[str, ...]:
    reading = figure.arms[0]
    if reading is None:
        return NOTHING, "", ""
    all_of_it = whole.arms[0] if whole is not None else None
    share = f"{100 * reading.value / all_of_it.value:.1f} %" if figure.part and all_of_it is not None and all_of_it.value else ""
    span = "" if reading.low == reading.high else f"{amount(reading.low, figure.unit)} to {amount(reading.high, figure.unit)}"
    return amount(reading.value, figure.unit), share, span


def _compared(figure: Figure) -> tuple[str, ...]:
    if figure.difference is None:
        return NOTHING, NOTHING, ""
    spread = "" if figure.spread is None else f"± {amount(figure.spread, figure.unit)}"
    beyond = _percent(figure) or ("more" if figure.difference > 0 else "less") if figure.clear else ""
    return signed(figure.difference, figure.unit), spread, beyond


def _percent(figure: Figure) -> str:
    """How much the second arm's value differs from the first's: `+46 %`, `15×` from ten times as
    much on; '' where that says nothing."""
    first, second = (reading.value if reading else 0.0 for reading in figure.arms)
    if not first or figure.difference is None:
        return ""
    if second >= _TIMES_FROM * first:
        return f"{second / first:.0f}×"
    percent = 100 * (second / first - 1.0)
    return f"{percent:+.0f} %".replace("-", "−") if abs(percent) >= 1 else f"{percent:+.2g} %".replace("-", "−")


def _mixed(section: Section) -> bool:
    return len({figure.unit for figure in section.figures}) > 1


def _alone_answer(found: Explained) -> tuple[str, ...]:
    said = []
    for key, what in (("wall", "in the worker"), ("cpu", "of CPU")):
        section = next((each for each in found.sections if each.key == key), None)
        whole = whole_of(section) if section is not None else None
        all_of_it = whole.arms[0] if whole is not None else None
        if section is None or all_of_it is None or not all_of_it.value:
            continue
        parts = sorted(
            ((each.name, reading.value / all_of_it.value) for each in section.figures if each.part and (reading := each.arms[0])),
            key=lambda one: -one[1],
        )
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in parts[:_SHOWN_PARTS] if share >= _LEAST_SHARE)
        said.append(f"a request takes {milliseconds(all_of_it.value)} ms {what}: {shares}")
    functions = [(each.name, reading.value) for each in figures_of(found, "php_functions") if (reading := each.arms[0]) is not None]
    if functions:
        said.insert(0, "PHP functions: " + ", ".join(f"{name} {share:.1f} %" for name, share in functions[:_SHOWN_PARTS]))
    return tuple(said)


def _compared_answer(found: Explained) -> tuple[str, ...]:
    said = [line for key, what in _WHOLES.items() for line in _whole_lines(found, key, what)]
    said += [note for section in found.sections if section.key == "syscalls" for note in section.notes]
    return (*said, _most_changed(found))


def _whole_lines(found: Explained, key: str, what: str) -> list[str]:
    """How a section's whole differs, and which of its parts do."""
    figures = figures_of(found, key)
    whole = next((each for each in figures if not each.part and each.difference is not None), None)
    if whole is None:
        return []
    first, second = (number(each, whole.unit) for each in whole.arms)
    clear = sorted((each for each in figures if each.part and each.clear), key=lambda each: -abs(each.difference or 0.0))
    parts = ", ".join(f"{each.name} {_how_sure(each)}" for each in clear[:_SHOWN_PARTS])
    unit = "" if whole.unit == "instructions" else f" {UNIT_WORDS[whole.unit]}"
    return [f"{what}: {first}{unit} in A, {second} in B, {_how_sure(whole)}" + (f"; of it {parts}" if parts else "")]


def _most_changed(found: Explained) -> str:
    """The last line: which component's time changed most, how much, how sure."""
    parts = [(each, what) for key, what in _TIMES.items() for each in figures_of(found, key) if each.part and each.difference is not None]
    if not parts:
        return "what changed cannot be said: no part of a request's time could be read of both"
    over = f"over {found.starts} fresh starts"
    # What workers spend on a CPU is PHP's CPU once more: it counts where that is not clear by
    # itself.
    figure, what = max(parts, key=lambda one: (one[0].clear, one[0].name != ON_CPU, abs(one[0].difference or 0.0)))
    spread = "" if figure.spread is None else f"± {amount(figure.spread, figure.unit)} ms"
    if not figure.clear:
        return (
            f"no part of a request's time changed by more than chance makes of it {over}; the largest: {_changed(figure, what)} ({spread})"
        )
    sure = "far beyond" if figure.spread is not None and abs(figure.difference or 0.0) > _FAR * figure.spread else "beyond"
    return f"what changed most: {_changed(figure, what)}, {sure} what chance makes of it {over} ({spread})"


def _changed(figure: Figure, what: str) -> str:
    first, second = (number(each, figure.unit) for each in figure.arms)
    relative = f" ({_percent(figure)})" if _percent(figure) else ""
    return f"{what.format(figure.name)}, {first} to {second} ms per request{relative}"


def figures_of(found: Explained, key: str) -> list[Figure]:
    """The figures of a section; none where there is no such section."""
    return [figure for section in found.sections if section.key == key for figure in section.figures]


def _how_sure(figure: Figure) -> str:
    if figure.difference is None:
        return "no difference known"
    relative = f" ({_percent(figure)})" if _percent(figure) else ""
    if figure.spread is None:
        return f"{signed(figure.difference, figure.unit)}{relative}, one look"
    if not figure.clear:
        return f"no difference beyond ± {amount(figure.spread, figure.unit)}"
    return f"{signed(figure.difference, figure.unit)} ± {amount(figure.spread, figure.unit)}{relative}"


def greatest(figure: Figure) -> float:
    """The greater of its arms' values."""
    return max((each.value for each in figure.arms if each is not None), default=0.0)
