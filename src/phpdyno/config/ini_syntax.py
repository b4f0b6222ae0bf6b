"""php.ini's own syntax: which values mean what they say, and which only PHP's parser can read."""

import re
from collections.abc import Iterator

from phpdyno.config.fpm_conf import CONSTANTS
from phpdyno.config.nearest import suggestion
from phpdyno.errors import UsageError

KEYWORDS = frozenset({"on", "off", "yes", "no", "true", "false", "none", "null"})
"""Words that stand for 1 or for nothing where they are not in quotes."""
_PLAIN = re.compile(r"[A-Za-z0-9._/:+,@%{}-]*")
_CONSTANT = re.compile(r"[A-Z_][A-Za-z0-9_]*")
_PART = re.compile(
    r"""(?P<quoted>'[^']*' | "(?:[^"\\]|\\.)*") | \$\{(?P<variable>[^}]*)\} | (?P<operator>[&|^~()!]) | (?P<comment>;)
    | (?P<open>['"]) | (?P<bare>(?:\$(?!\{)|[^$\s;&|^~()!"'])+) | (?P<space>\s+) | (?P<other>.)""",
    re.VERBOSE,
)
_IN_QUOTES = re.compile(r"(?<!\\)\$\{([^}]*)\}")


def is_keyword(text: str) -> bool:
    """Whether PHP takes a bare word for a switch."""
    return text.lower() in KEYWORDS


def is_plain(text: str) -> bool:
    """Whether a value is the same as text and as php.ini's syntax, or a switch (`On`), which every
    reader knows. A word in capitals may be a constant."""
    return is_keyword(text) or (_PLAIN.fullmatch(text) is not None and not _CONSTANT.fullmatch(text))


def is_quoted_keyword(value: str) -> bool:
    """Whether it is a text in quotes that without them would be a switch, as `"None"` is."""
    return len(value) > 2 and value[0] == value[-1] == '"' and is_keyword(value[1:-1])


def meant(value: str) -> str:
    """The text that a value of an arm is: of a quoted keyword what is in the quotes, any other one
    itself."""
    return value[1:-1] if is_quoted_keyword(value) else value


def as_literal(value: str) -> str:
    """A text as the value of an arm: in quotes where it would be taken for a switch."""
    return f'"{value}"' if is_keyword(value) else value


def is_literal(text: str) -> bool:
    """Whether a value that is not plain can only be meant as it stands: PHP's parser would stop at
    its `=`, and nothing else in it is syntax."""
    kinds = {kind for kind, _ in _parts(text)}
    return kinds <= {"bare", "space"} and "=" in text


def variables_in(text: str) -> tuple[str, ...]:
    """Names in ${NAME}, also those within double quotes; a default behind `:-` is left out, and so
    is a name that has one."""
    found: list[str] = []
    for kind, part in _parts(text):
        if kind == "variable":
            found.append(part)
        elif kind == "quoted" and part[0] == '"':
            found += _IN_QUOTES.findall(part)
    return tuple(name for name in found if ":-" not in name)


def operands_in(text: str) -> tuple[str, ...]:
    """The words of an expression (`E_ALL & ~E_NOTICE`) that are no numbers; empty where there is no
    operator."""
    parts = [(kind, part) for kind, part in _parts(text) if kind != "space"]
    if all(kind != "operator" for kind, _ in parts):
        return ()
    return tuple(part for kind, part in parts if kind == "bare" and not re.fullmatch(r"-?\d+", part))


def bare_word(text: str) -> str:
    """The word that a value is, where it is one that could name a constant; else ''."""
    stripped = text.strip()
    return stripped if _CONSTANT.fullmatch(stripped) and not is_keyword(stripped) else ""


def check_syntax(text: str, *, where: str) -> None:
    """Raise UsageError for a value that php.ini would read in another way than its writer can have
    meant."""
    kinds = [kind for kind, _ in _parts(text)]
    if "comment" in kinds:
        raise UsageError(
            "php.ini takes what follows ';' for a comment",
            where=where,
            next_step=f"write the value in quotes: {_in_quotes(text)}, or leave the comment out",
        )
    if "open" in kinds:
        raise UsageError("a quotation mark is not closed", where=where, next_step=f"write the value in quotes: {_in_quotes(text)}")


def misread(text: str, *, where: str) -> UsageError:
    """The error for a value that PHP's own parser refuses."""
    return UsageError(
        "PHP cannot read this value: outside of quotes & | ^ ~ ! ( ) = are operators",
        where=where,
        next_step=f"write it in quotes: {_in_quotes(text)}",
    )


def unknown_constant(word: str, text: str, *, where: str) -> UsageError:
    """The error for a word that was meant for a constant, or is no number, in an expression."""
    near = suggestion(word, CONSTANTS) if word.startswith("E") else ""
    hint = near or f"write the value in quotes if it is a text: {_in_quotes(text)}"
    return UsageError(f"{word!r} is no constant of this PHP and no number", where=where, next_step=hint)


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "") + "'" if '"' in text else f'"{text}"'


def _parts(text: str) -> Iterator[tuple[str, str]]:
    for match in _PART.finditer(text):
        kind = match.lastgroup or "other"
        yield kind, match[kind]
