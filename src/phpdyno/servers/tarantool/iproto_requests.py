"""The lab's operations as requests of IPROTO, built once: what the native load core sends, and what
comes back as connectors show it."""

import functools
from typing import Any

import msgspec

from phpdyno._native import Frame
from phpdyno.errors import DynoError
from phpdyno.servers.tarantool.iproto import DATA, EXPRESSION, LENGTH, SYNC, TYPE, UINT32

SPACE = 555
FETCHED = 7
"""As php_files/connectors/host.php asks for."""
OF_SPACE, INDEX, LIMIT, OFFSET, ITERATOR, KEY, TUPLE, NAME, OPERATIONS = 0x10, 0x11, 0x12, 0x13, 0x14, 0x20, 0x21, 0x22, 0x28
SQL, BINDS, SQL_INFO = 0x40, 0x41, 0x42
EVERYTHING = 0xFFFFFFFF
FIXED_SYNC = b"\xcf" + bytes(8)
_ENCODE = msgspec.msgpack.encode

Request = tuple[int, dict[int, Any]]
"""The type of a request, and its body."""


def request_of(operation: str, key: int) -> Request:
    """An operation of the lab for a key, as every connector sends it. Raises DynoError for one that
    has no fixed request."""
    space = {OF_SPACE: SPACE}
    made: dict[str, Request] = {
        "ping": (64, {}),
        "call": (10, {NAME: "math.min", TUPLE: [42, key]}),
        "eval": (8, {EXPRESSION: "return ...", TUPLE: [key]}),
        "select": (1, {**space, INDEX: 0, LIMIT: EVERYTHING, OFFSET: 0, ITERATOR: 0, KEY: [key]}),
        "insert": (2, {**space, TUPLE: [None, f"foobar_{key}"]}),
        "replace": (3, {**space, TUPLE: [key, "a"]}),
        "update": (4, {**space, INDEX: 0, KEY: [key], TUPLE: [["=", 1, "a"]]}),
        "upsert": (9, {**space, TUPLE: [key, "a"], OPERATIONS: [["=", 1, "b"]]}),
        "delete": (5, {**space, INDEX: 0, KEY: [key]}),
        "sql-select": (11, {SQL: 'SELECT * FROM "items" WHERE "id" = ?', BINDS: [key]}),
        "sql-insert": (11, {SQL: 'INSERT INTO "items" VALUES (NULL, ?)', BINDS: [f"foobar_{key}"]}),
        "sql-update": (11, {SQL: 'UPDATE "items" SET "name" = ? WHERE "id" = ?', BINDS: ["a", key]}),
        "sql-delete": (11, {SQL: 'DELETE FROM "items" WHERE "id" = ?', BINDS: [key]}),
    }
    if operation not in made:
        raise DynoError(
            "the ceiling of this operation is not measured: a statement's number is known to its connection only", where=operation
        )
    return made[operation]


def frame_of(operation: str, key: int) -> Frame:
    """The whole request, its sync still to be written."""
    kind, body = request_of(operation, key)
    header = b"\x82" + _ENCODE(TYPE) + _ENCODE(kind) + _ENCODE(SYNC) + FIXED_SYNC
    whole = header + _ENCODE(body)
    # Behind the length (five bytes) and the header's first bytes, up to the digits.
    offset = LENGTH.size + len(header) - 8
    return Frame(LENGTH.pack(UINT32, len(whole)) + whole, offset, min_bytes=1)


@functools.cache
def frames_of(operation: str, keys: tuple[int, ...]) -> tuple[Frame, ...]:
    """The whole requests for these keys; every instance of an operation sends the same. Raises
    DynoError as `request_of` does."""
    return tuple(frame_of(operation, key) for key in keys)


def restoring(key: int) -> Request:
    """What puts the tuple of a key back as it was in the beginning."""
    return 3, {OF_SPACE: SPACE, TUPLE: [key, f"tuple_{key}"]}


def shown(operation: str, answer: dict[int, Any]) -> Any:
    """The body of an answer as host.php shows it."""
    rows = answer.get(DATA, [])
    if operation in {"ping", "upsert"}:
        return None
    if operation == "insert":
        return ["new", rows[0][1]]
    if operation in {"replace", "update", "delete"}:
        return rows[0] if rows else None
    if operation.startswith("sql-") and operation != "sql-select":
        return answer.get(SQL_INFO, {}).get(0)
    return rows
