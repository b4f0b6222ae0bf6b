"""As much of Tarantool's IPROTO as tests of the pipeline need: requests, answers, and one question
at a time."""

import socket
import struct

SELECT, EVAL, PING = 1, 8, 64
OK, PUSH, ERROR = 0, 0x80, 0x8000
SYNC_OFFSET = 10
"""Where the digits of the sync are in what `request` makes."""
EMPTY = b"\x80"
GREETING = b"%-63s\n%-63s\n" % (b"Tarantool 2.6.0 (Binary) a-fake", b"c2FsdHNhbHRzYWx0c2FsdHNhbHQ=")


def uint(number: int) -> bytes:
    """The shortest form. Tarantool 2.6.0 finds no key that is written in a longer one."""
    for most, form in ((0x7F, ">B"), (0xFF, ">xB"), (0xFFFF, ">xH"), (0xFFFFFFFF, ">xI"), (2**64 - 1, ">xQ")):
        if number <= most:
            packed = struct.pack(form, number)
            return packed if form == ">B" else bytes([{2: 0xCC, 3: 0xCD, 5: 0xCE, 9: 0xCF}[len(packed)]]) + packed[1:]
    raise ValueError(number)


def string(text: str) -> bytes:
    encoded = text.encode()
    return (bytes([0xA0 + len(encoded)]) if len(encoded) < 32 else struct.pack(">BB", 0xD9, len(encoded))) + encoded


def packet(content: bytes) -> bytes:
    return struct.pack(">BI", 0xCE, len(content)) + content


def request(kind: int, body: bytes = EMPTY, sync: int = 0) -> bytes:
    return packet(struct.pack(">BBBBBQ", 0x82, 0x00, kind, 0x01, 0xCF, sync) + body)


def answer(kind: int, sync: int, body: bytes = EMPTY) -> bytes:
    return packet(struct.pack(">BBBIBBQBBI", 0x83, 0x00, 0xCE, kind, 0x01, 0xCF, sync, 0x05, 0xCE, 80) + body)


def select(space: int, key: int) -> bytes:
    """One tuple by its primary key."""
    pairs = {0x10: uint(space), 0x11: uint(0), 0x12: uint(1), 0x13: uint(0), 0x14: uint(0), 0x20: b"\x91" + uint(key)}
    return request(SELECT, b"\x86" + b"".join(bytes([name]) + value for name, value in pairs.items()))


def evaluate(lua: str, sync: int = 0) -> bytes:
    return request(EVAL, b"\x82\x27" + string(lua) + b"\x21\x90", sync)


def rows(*packed: bytes) -> bytes:
    """The body of an answer with these rows."""
    return struct.pack(">BBBI", 0x81, 0x30, 0xDD, len(packed)) + b"".join(packed)


def read_packet(peer: socket.socket) -> bytes:
    """All of the next packet but its length; nothing at the end."""
    length = peer.recv(5, socket.MSG_WAITALL)
    return peer.recv(int.from_bytes(length[1:]), socket.MSG_WAITALL) if length else b""


def ask_number(peer: socket.socket, lua: str) -> int:
    """What this expression is on the server: a number above 127."""
    peer.sendall(evaluate(f"return 1000000 + {lua}", 1))
    body = read_packet(peer)[23:]
    if not body.startswith(rows(b"")[:2]) or body[7] not in (0xCE, 0xCF):
        raise ValueError(body)
    return int.from_bytes(body[8:]) - 1_000_000
