"""Apache's LogFormat as a LinePattern."""

import re

from msgspec import structs

from phpdyno.access_log.forms.names import plain_name
from phpdyno.access_log.log_format.pattern import LinePattern, Value
from phpdyno.errors import UsageError

_COMMON = '%h %l %u %t "%r" %>s %O'
_COMBINED = _COMMON + ' "%{Referer}i" "%{User-Agent}i"'
KNOWN = {"common": _COMMON, "combined": _COMBINED, "vhost_common": "%v " + _COMMON, "vhost_combined": "%v:%p " + _COMBINED}
"""Formats that are known by their names."""
_WHOLE = re.compile(r"""\s*LogFormat\s+(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')(?:\s+\S+)?\s*""", re.DOTALL)
_PART = re.compile(r"%(?:%|[!,0-9<>]*(?:\{([^}]*)\})?(\^?[A-Za-z]+?(?=[^A-Za-z]|$)|[A-Za-z]))")
_CONDITION = re.compile(r"%!?[0-9]")
_NUMBER = r"(?:[-+0-9.]+)"
_BY_LETTER = {
    "r": Value("request", "%r", r"(?:[A-Za-z]{1,20} \S+ HTTP/[0-9.]{1,5}|-)"),
    "U": Value("decodedpath", "%U", spaces=True),
    "q": Value("querystring", "%q", r"(?:\?\S*)?"),
    "m": Value("requestmethod", "%m", r"[A-Za-z-]{1,20}"),
    "s": Value("status", "%s", r"[0-9]{3}"),
    "v": Value("servername", "%v"),
    "V": Value("host", "%V"),
    "p": Value("serverport", "%p", r"[0-9]+"),
    "t": Value("timelocal", "%t", r"\[?[0-9A-Za-z/:.]+ [+-][0-9]{4}\]?"),
    "u": Value("user", "%u", spaces=True),
    "a": Value("client", "%a", r"\S+"),
    "h": Value("client", "%h", r"\S+"),
    "T": Value("seconds", "%T", _NUMBER),
    "H": Value("protocol", "%H", r"\S+"),
}
_HEADERS = {
    "host": Value("httphost", "%{Host}i"),
    "x-forwarded-proto": Value("xforwardedproto", "%{X-Forwarded-Proto}i"),
    "x-forwarded-host": Value("xforwardedhost", "%{X-Forwarded-Host}i"),
    "x-forwarded-for": Value("forwarded", "%{X-Forwarded-For}i", r"(?:[^\s,]+(?:, ?[^\s,]+)*)"),
}
_NUMBERS = frozenset("BbDIOSkPX")
_C_ESCAPES = {r"\"": '"', r"\'": "'", r"\\": "\\", r"\t": "\t", r"\n": "\n"}


def apache_pattern(text: str) -> LinePattern:
    """The format of `LogFormat`: its text with %directives, the whole line of the configuration, or
    one of the known names. Raises UsageError."""
    text = KNOWN.get(text.strip(), text)
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        text = whole[1] if whole[1] is not None else whole[2]
    if whole is not None or r"\"" in text:
        text = re.sub(r"\\[\"'\\tn]", lambda found: _C_ESCAPES[found[0]], text)
    parts: list[str | Value] = []
    end = 0
    for found in _PART.finditer(text):
        _add_text(parts, text[end : found.start()])
        end = found.end()
        if found[0] == "%%":
            _add_text(parts, "%")
        else:
            value = _value(found[0], found[1], found[2])
            parts.append(
                structs.replace(value, pattern=f"(?:{value.pattern}|-)") if value.pattern and _CONDITION.match(found[0]) else value
            )
    _add_text(parts, text[end:])
    return LinePattern(parts, kind="LogFormat")


def _add_text(parts: list[str | Value], text: str) -> None:
    """Text behind other text is one with it."""
    if text and parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def _value(shown: str, argument: str | None, letter: str) -> Value:
    if argument is not None and letter != "s":
        return _with_argument(shown, argument, letter)
    known = _BY_LETTER.get(letter)
    if known is not None:
        return Value(known.name, shown, known.pattern, known.spaces)
    return Value(plain_name("number " + letter), shown, _NUMBER if letter in _NUMBERS else "")


def _with_argument(shown: str, argument: str, letter: str) -> Value:
    if letter == "t":
        return _time(shown, argument.removeprefix("begin:").removeprefix("end:"))
    if letter == "i" and argument.lower() in _HEADERS:
        known = _HEADERS[argument.lower()]
        return Value(known.name, shown, known.pattern)
    name = plain_name(f"other {letter} {argument}")
    if letter in {"p", "a", "h"}:
        return Value(name, shown, r"[0-9]+" if letter == "p" else r"\S+")
    return Value(name, shown, _NUMBER if letter in _NUMBERS or letter == "T" else "", spaces=letter not in _NUMBERS)


def _time(shown: str, form: str) -> Value:
    if form in {"sec", "msec", "usec", "msec_frac", "usec_frac"}:
        return Value({"sec": "ts", "msec": "ts"}.get(form, "fraction"), shown, r"[0-9]+")
    if "%" not in form:
        raise UsageError(f"{shown} is no time that can be read", where="--log-format", next_step="use %t or %{…}t as Apache has it")
    name = (
        "timelocal"
        if form.startswith(("%d/%b/%Y:%H:%M:%S", "%d/%b/%Y:%T"))
        else "timeiso8601"
        if form.startswith(("%Y-%m-%d", "%F"))
        else "othertime"
    )
    return Value(name, shown, spaces=True)
