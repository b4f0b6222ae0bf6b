"""PHP's stack in memory that is written by hand, as the engine lays it out on 64-bit machines."""

import struct

import pytest

from phpdyno.explain.functions.php_memory import EVAL, INTERNAL, USER, PhpLayout, StackReader, find_layout

GLOBALS, CURRENT, FILENAME = 0x600000, 0x600000 + 488, 152


class FakeMemory:
    """Bytes by address; what was not written is not mapped."""

    def __init__(self) -> None:
        self.pieces: dict[int, bytes] = {}
        self.reads = 0
        self._next = 0x100000

    def put(self, data: bytes, at: int | None = None) -> int:
        if at is None:
            at, self._next = self._next, self._next + len(data) + 64
        self.pieces[at] = data
        return at

    def read(self, address: int, size: int) -> bytes:
        self.reads += 1
        for start, data in self.pieces.items():
            if start <= address < start + len(data):
                return data[address - start : address - start + size]
        return b""

    def string(self, text: str) -> int:
        data = text.encode()
        return self.put(struct.pack("<QQQ", 1, 0, len(data)) + data + b"\0")

    def function(self, kind: int, name: str, *, scope: str = "", file: str = "") -> int:
        of_class = self.put(struct.pack("<QQ", 2, self.string(scope))) if scope else 0
        head = struct.pack("<QQQ", kind, self.string(name) if name else 0, of_class)
        return self.put(head.ljust(FILENAME, b"\0") + struct.pack("<Q", self.string(file) if file else 0) + bytes(200))

    def frames(self, functions: list[int], at: int = 0x7F0000000020, gap: int = 0) -> None:
        """One after the other in PHP's stack, with room for variables between; the last is the one
        that runs."""
        data, previous = b"", 0
        for function in functions:
            place = at + len(data)
            data += struct.pack("<QQQQQQQQQQ", 0, 0, 0, function, 0, 0, previous, 0, 0, 0) + bytes(gap)
            previous = place
        self.put(data, at)
        self.put(struct.pack("<Q", previous), CURRENT)


@pytest.fixture
def memory() -> FakeMemory:
    return FakeMemory()


def stack(memory: FakeMemory) -> tuple[str, ...] | None:
    return StackReader(memory.read, PhpLayout(CURRENT, FILENAME)).stack()


def test_functions_methods_files_closures_and_eval_by_their_names(memory: FakeMemory) -> None:
    memory.frames(
        [
            memory.function(USER, "", file="/srv/index.php"),
            memory.function(USER, "handle", scope="App\\Kernel", file="/srv/k.php"),
            0,
            memory.function(USER, "{closure}", scope="App\\Kernel", file="/srv/k.php"),
            memory.function(USER, "run", scope="class@anonymous\0/srv/x.php:3$0", file="/srv/x.php"),
            memory.function(EVAL, "", file="/srv/x.php(3) : eval()'d code"),
            memory.function(INTERNAL, "query", scope="PDO"),
        ],
        gap=48,
    )
    assert stack(memory) == (
        "/srv/index.php",
        "App\\Kernel::handle",
        "{closure:/srv/k.php}",
        "class@anonymous::run",
        "/srv/x.php(3) : eval()'d code",
        "PDO::query",
    )


def test_nothing_runs_between_requests(memory: FakeMemory) -> None:
    memory.put(bytes(8), CURRENT)
    assert stack(memory) == ()


def test_a_deep_stack_is_read_in_few_pieces(memory: FakeMemory) -> None:
    function = memory.function(USER, "f", file="/srv/f.php")
    memory.frames([function] * 500, gap=300)
    assert stack(memory) == ("f",) * 500
    # A look at each function, and hardly any more.
    assert memory.reads < 700


def test_what_is_no_stack_is_told_from_an_empty_one(memory: FakeMemory) -> None:
    memory.put(struct.pack("<Q", 0x7F0000000020), CURRENT)
    assert stack(memory) is None
    memory.frames([memory.function(9, "f")])
    assert stack(memory) is None
    memory.frames([0x1234])
    assert stack(memory) is None
    # A ring.
    memory.put(struct.pack("<QQQQQQQQQQ", 0, 0, 0, 0, 0, 0, 0x7F0000000020, 0, 0, 0), 0x7F0000000020)
    assert stack(memory) is None


def test_names_are_read_again_where_another_function_lies_by_now(memory: FakeMemory) -> None:
    reader = StackReader(memory.read, PhpLayout(CURRENT, FILENAME))
    at = memory.function(USER, "first", file="/a.php")
    memory.frames([at])
    assert reader.stack() == ("first",)
    memory.put(memory.pieces[memory.function(USER, "second", file="/a.php")], at)
    assert reader.stack() == ("second",)


@pytest.mark.parametrize(
    ("function", "file", "found"), [("asleep", "/live/a.php", True), ("other", "/live/a.php", False), ("asleep", "/b", False)]
)
def test_the_layout_is_found_by_a_function_that_is_asleep(memory: FakeMemory, function: str, file: str, found: bool) -> None:
    memory.frames(
        [
            memory.function(USER, "", file="/live/a.php"),
            memory.function(USER, "asleep", file="/live/a.php"),
            memory.function(INTERNAL, "usleep"),
        ]
    )
    current = memory.pieces.pop(CURRENT)
    # Numbers and pointers to something else lie around it.
    memory.put(struct.pack("<QQ", 7, memory.string("x")).ljust(488, b"\0") + current + bytes(1200), GLOBALS)
    layout = find_layout(memory.read, GLOBALS, 1696, function=function, file=file)
    assert layout == (PhpLayout(CURRENT, FILENAME) if found else None)


def test_stacks_and_names_lie_at_the_top_of_48_bits_on_arm64(memory: FakeMemory) -> None:
    """There mappings begin below 1 << 48; on x86-64 the half above 1 << 47 is the kernel's."""
    memory._next = 0xFFFF_8A00_0000
    file, name = "/cache/layout.php", "phpdyno_pause"
    memory.frames([memory.function(USER, name, file=file), memory.function(INTERNAL, "usleep")], at=0xFFFF_9A00_0020)
    current = memory.pieces.pop(CURRENT)
    memory.put(bytes(488) + current + bytes(1200), GLOBALS)
    assert find_layout(memory.read, GLOBALS, 1696, function=name, file=file) == PhpLayout(CURRENT, FILENAME)
