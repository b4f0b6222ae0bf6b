"""A log's summary as plain text: what is kept, how requests arrive, what is left out and why."""

from datetime import UTC, datetime

from phpdyno.access_log.summary import FORMAT_HINT, LinesLeftOut, LogSummary, Reason
from phpdyno.model.arrival import Arrival

_REASONS: dict[Reason, str] = {
    "comment": "comments",
    "unreadable": "unreadable",
    "method": "methods other than GET",
    "host": "other sites (--log-host takes one of them)",
    "static": "static files and what the web server answered itself",
    "redirect": "redirects",
    "form": "targets that are no plain path (control characters, //, .., #)",
    "long": "targets of more than 1,024 characters",
    "secret": "what looks like a secret or an e-mail address in the path",
    "status": "answered neither 2xx nor 3xx",
    "answers": "to targets that mostly answer an error",
    "rare": "to less frequent targets",
}

_MOST_FORMS = 2


def summary_text(summary: LogSummary) -> str:
    """Several lines; nothing in them that the log's writer could control a terminal with."""
    host = f", host {summary.host}" if summary.host else ""
    head = f"{_plain(summary.file)}: {_counted(summary.lines, 'line')} ({_form(summary)}{host})"
    lines = [head, *_read_as(summary), *_kept(summary), *_arrival(summary)]
    if summary.left_out:
        lines += ["left out:", *(_left_out(each, summary) for each in summary.left_out)]
    if summary.masked:
        what = f"masked: {_counted(summary.masked, 'request')} had secrets or personal data in their query;"
        lines += [what, "  the values are replaced by 'masked', and the app may answer otherwise than it did"]
    return "\n".join(lines)


def unread_words(summary: LogSummary) -> str:
    """What to do where a part of the log is in no form that is known; '' where it is not. It quotes
    the log."""
    unread = summary.unread
    lines = next((count for each in summary.left_out for part, count in each.parts if part == "no request in it"), 0)
    if unread is None or not lines:
        return ""
    lacks = f" ({unread.lacks})" if unread.lacks else ""
    one = lines == 1
    which = (
        f"{'does' if one else 'do'} not fit --log-format" if summary.log_format else f"{'is' if one else 'are'} in no form that is known"
    )
    step = "" if summary.log_format else f"; {FORMAT_HINT}"
    quoted = _plain(unread.text + lacks)
    return f"{_counted(lines, 'line')} ({_share(lines, summary.lines)}) {which}, as line {unread.line:,}: {quoted}{step}"


def _form(summary: LogSummary) -> str:
    readable = summary.lines - summary.lines_out("unreadable") - summary.lines_out("comment")
    if not readable:
        return "none of them readable" if summary.lines else "empty"
    forms: dict[str, int] = {}
    for taken, count in summary.forms:
        forms[taken.form] = forms.get(taken.form, 0) + count
    first, *others = forms
    return first + "".join(f", {forms[each]:,} of them {each}" for each in others[:_MOST_FORMS])


def _read_as(summary: LogSummary) -> list[str]:
    """Which field was taken for what, in the most frequent forms, and what came of a few lines."""
    lines = []
    for taken, count in summary.forms[:_MOST_FORMS]:
        many = f"{count:,} lines " if len(summary.forms) > 1 else ""
        lines.append(f"{many}read as: " + ", ".join(f"{what} = {_plain(field)}" for what, field in _ordered(taken.fields)))
    for each in summary.examples:
        raw = f"{_plain(each.raw)} → " if each.raw else "(its query is masked) → "
        lines.append(f"  line {each.line:,}: {raw}{each.path or 'left out, see below'}")
    if summary.cached:
        cached = _counted(summary.cached, "request")
        lines.append(f"note: a cache answered {cached} of these, and not the app: the weights are what visitors ask")
    return lines + [f"note: {_plain(note)}" for note in summary.notes]


def _ordered(fields: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    order = ("site", "method", "target", "request", "status", "time")
    return sorted(fields, key=lambda field: order.index(field[0]) if field[0] in order else len(order))


def _kept(summary: LogSummary) -> list[str]:
    targets = _counted(len(summary.targets), "target")
    usable = summary.kept + summary.lines_out("rare")
    lines = [f"kept: {summary.kept:,} lines ({_share(summary.kept, summary.lines)}) as {targets}"]
    if summary.lines_out("rare"):
        lines[0] += f", {summary.coverage:.1%} of the {usable:,} requests that could be asked again"
    if summary.undercount:
        lines.append(f"  each count may be up to {summary.undercount:,} too low, as more targets came than are counted at once;")
        known = "these are surely" if summary.surely_most_frequent else "the rarest of these need not be among"
        lines.append(f"  {known} the most frequent ones")
    return lines


def _arrival(summary: LogSummary) -> list[str]:
    arrival = summary.arrival
    if arrival is None:
        return ["arrivals: not known, no line has a time"] if summary.kept else []
    span = f"{_moment(summary.start_s)} to {_moment(summary.end_s)} UTC"
    peak = f"{arrival.peak_per_s:,} in the busiest second ({_moment(summary.peak_s)})"
    minute = f"{arrival.busiest_minute_per_s:.3g}/s in the busiest minute, " if arrival.busiest_minute_per_s else ""
    lines = [f"arrivals: {arrival.rate_per_s:.3g}/s in the mean, {minute}{peak}; {span}"]
    measures = _measures(arrival)
    lines.append(
        f"  burstiness (1 for independent arrivals): {measures}"
        if measures
        else "  burstiness: not known, the log spans less than a minute"
    )
    if summary.untimed:
        lines.append(f"  {summary.untimed:,} requests are not in these figures: no time, or beyond the first 744 hours with traffic")
    return lines


def _measures(arrival: Arrival) -> str:
    named = (
        ("variance / mean of the counts per second", arrival.dispersion),
        ("within minutes", arrival.minute_dispersion),
        ("squared variation of the gaps", arrival.gap_cv2),
    )
    return ", ".join(f"{name} {value:.3g}" for name, value in named if value is not None)


def _left_out(each: LinesLeftOut, summary: LogSummary) -> str:
    least = "at least " if summary.undercount else ""
    more = f" ({least}{summary.rare_targets:,})" if each.reason == "rare" and summary.rare_targets else ""
    parts = ", ".join(f"{part} {count:,}" for part, count in each.parts)
    return f"  {each.lines:,} ({_share(each.lines, summary.lines)}) {_REASONS[each.reason]}{more}{': ' if parts else ''}{parts}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
