"""A command line that cannot be parsed, in phpdyno's own words: where, what, and the next step."""

from typing import Literal, get_args, get_origin

from cyclopts import App, ArgumentCollection, CoercionError, CycloptsError, RepeatArgumentError
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnknownOptionError, UnusedCliTokensError

from phpdyno.config.nearest import nearest
from phpdyno.errors import UsageError

KINDS = {int: "whole number", float: "number"}
"""People know these types by other names."""


def usage_error(error: CycloptsError) -> UsageError:
    """The fault that a person is told. The next step is the name that was probably meant, and the
    help of the command that was asked for."""
    command = " ".join(error.command_chain or ())
    what, near = _read(error)
    manual = f"phpdyno {command} --help" if command else "phpdyno --help"
    return UsageError(what, where=command, next_step=f"did you mean {near}? see {manual}" if near else f"see {manual}")


def _read(error: CycloptsError) -> tuple[str, str]:
    """Say what is wrong, and which known name is nearest to a mistyped one ('' for none)."""
    near = ""
    match error:
        case UnknownOptionError():
            given = (error.token.keyword or error.token.value).partition("=")[0]
            what, near = f"there is no option {given}", nearest(given, _options(error.argument_collection))
        case UnknownCommandError():
            given = (error.unused_tokens or [""])[0]
            kind = "option" if given.startswith("-") else "command"
            what, near = f"there is no {kind} {given}", nearest(given, _commands(error.app))
        case UnusedCliTokensError():
            what = f"nothing more is expected, and there is: {' '.join(error.unused_tokens or ())}"
        case RepeatArgumentError():
            what = f"{error.token.keyword} is given more than once"
        case CoercionError():
            what, near = _unsuited(error)
        case MissingArgumentError() if error.argument is not None:
            name = error.keyword or error.argument.name
            what = f"{name} has no value" if name.startswith("-") else f"{name} is missing"
        case _:
            what = _as_it_says(error)
    return what, near


def _unsuited(error: CoercionError) -> tuple[str, str]:
    """Say why a value is not of the kind that its option wants, and which known one is nearest."""
    if error.token is None or error.target_type is None:
        return _as_it_says(error), ""
    given = error.token.value
    name = error.token.keyword or (error.argument.name.lstrip("-").upper() if error.argument is not None else "")
    start = f"{name} {given}".strip()
    if get_origin(error.target_type) is Literal:
        choices = [str(choice) for choice in get_args(error.target_type)]
        return f"{start} is not known; it is one of: {', '.join(choices)}", nearest(given, choices)
    if error.target_type is bool:
        return f"{name} takes no value, and has {given}", ""
    return f"{start} is no {KINDS.get(error.target_type, error.target_type.__name__)}", ""


def _as_it_says(error: CycloptsError) -> str:
    """Give the library's own words, which end with a full stop, as one line."""
    return " ".join(str(error).split()).rstrip(".")


def _options(collection: ArgumentCollection) -> list[str]:
    return [name for argument in collection if argument.parse for name in argument.names if name.startswith("--")]


def _commands(app: App | None) -> list[str]:
    return [name for name in app if not name.startswith("-")] if app is not None else []
