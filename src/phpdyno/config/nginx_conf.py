"""nginx's configuration files, read with crossplane; includes are put in where they stand."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import crossplane

from phpdyno.errors import DynoError, UsageError
from phpdyno.model.nginx import Directive

ETC_NGINX = Path("/etc/nginx")
"""Where an include leads that is not found beside the file, as nginx itself would look there."""
MOST_DEPTH = 16
_MARKS = frozenset("*?[")


def read_nginx(path: Path, *, base: Path = ETC_NGINX) -> tuple[Directive, ...]:
    """All directives of a file and of what it includes. Raises UsageError with file and line for
    what cannot be read or understood."""
    return tuple(_file(path, base, (path,)))


def blocks(tree: Sequence[Directive], name: str) -> Iterator[Directive]:
    """Directives of one name at any depth, in their order."""
    for each in tree:
        if each.name == name:
            yield each
        yield from blocks(each.block or (), name)


def _file(path: Path, base: Path, stack: tuple[Path, ...]) -> Iterator[Directive]:
    if len(stack) > MOST_DEPTH:
        raise UsageError("includes lead in a circle", where=str(path))
    try:
        parsed = crossplane.parse(str(path), single=True, check_ctx=False, check_args=False)
    except OSError as error:
        raise _unreadable(path, error) from error
    for fault in parsed["errors"]:
        where = f"{path}:{fault['line']}" if fault["line"] else str(path)
        raise UsageError(f"nginx's configuration cannot be read: {_plain(fault['error'], path)}", where=where)
    for statement in parsed["config"][0]["parsed"] if parsed["config"] else ():
        yield from _directives(statement, path, base, stack)


def _directives(statement: Mapping[str, Any], path: Path, base: Path, stack: tuple[Path, ...]) -> Iterator[Directive]:
    where = f"{path}:{statement['line']}"
    if statement["directive"] == "include":
        for found in _included(" ".join(statement["args"]), path, base, where):
            yield from _file(found, base, (*stack, found))
        return
    block = statement.get("block")
    inside = None if block is None else tuple(each for one in block for each in _directives(one, path, base, stack))
    yield Directive(statement["directive"], tuple(statement["args"]), inside, where)


def _included(pattern: str, path: Path, base: Path, where: str) -> list[Path]:
    """The files of an include, which may be none of a pattern. Raises UsageError."""
    places = [Path(pattern)] if pattern.startswith("/") else [path.parent / pattern, base / pattern]
    for place in places:
        if found := sorted(Path("/").glob(str(place.absolute()).lstrip("/"))):
            return found
    if _MARKS & set(pattern):
        return []
    raise UsageError(f"there is no file {pattern!r} to include", where=where, next_step="put it beside the file, or leave the line out")


def _unreadable(path: Path, error: OSError) -> DynoError:
    hint = "run phpdyno as root, or copy the server block into a file of your own" if isinstance(error, PermissionError) else ""
    return UsageError(f"cannot be read: {error.strerror}", where=str(path), next_step=hint)


def _plain(text: str, path: Path) -> str:
    """The parser's words without the place that stands before them anyway."""
    return text.partition(f" in {path}")[0]
