"""Memory does not grow with a log's size, nor with the number of different targets, hosts and hours
in it."""

import gzip
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from phpdyno.access_log.reading import read_access_log
from tests.support.made_up.access_logs import combined, json_line

MOST_KIB = 160 * 1024
"""Of a whole process, interpreter and numpy (about 35 MiB) included."""
_PROGRAM = """
import sys
from pathlib import Path
from phpdyno.access_log.reading import read_access_log
summary = read_access_log(Path(sys.argv[1]))
assert summary.kept + sum(each.lines for each in summary.left_out) == summary.lines
(peak,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(summary.lines, summary.undercount, peak)
"""
"""The kernel's ru_maxrss would contain what the test process itself held when it forked."""


def test_a_log_of_3_mb_takes_less_than_it_holds(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    block = b"".join(combined(f"GET /{second % 7} HTTP/1.1", second=second) + b"\n" for second in range(600))
    log.write_bytes(block * (3_000_000 // len(block) + 1))
    tracemalloc.start()
    try:
        summary = read_access_log(log)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(summary.targets) == 7
    assert peak < 2 * 1024 * 1024


@pytest.mark.slow
def test_a_hostile_log_of_200_mb_stays_in_bounds(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    written = number = 0
    with log.open("wb") as out:
        while written < 200_000_000:
            number += 1
            written += out.write(_hostile(number) + b"\n")
    lines, undercount, peak_kib = _read_apart(log)
    assert lines == number
    assert undercount > 0
    assert peak_kib < MOST_KIB


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_256_mb_is_passed_over(tmp_path: Path, packed: bool) -> None:
    log, last = tmp_path / "access.log", b"\n" + combined() + b"\n"
    if packed:
        with gzip.open(log, "wb", compresslevel=1) as out:
            for _ in range(256):
                out.write(bytes(1 << 20))
            out.write(last)
    else:
        with log.open("wb") as sparse:
            sparse.seek(256 << 20)
            sparse.write(last)
    lines, _, peak_kib = _read_apart(log)
    assert lines == 2
    assert peak_kib < MOST_KIB


def _read_apart(log: Path) -> tuple[int, int, int]:
    """Lines, undercount and the most memory in KiB of a process that reads a log and does nothing
    else."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(log)], check=True, capture_output=True, text=True)
    lines, undercount, peak_kib = map(int, done.stdout.split())
    return lines, undercount, peak_kib


def _hostile(number: int) -> bytes:
    if number % 5_000 == 0:
        return b"x" * 1_000_000
    if number % 50 == 0:
        return bytes(byte for byte in (number * 7919 % 2**64).to_bytes(8, "big") * 9 if byte != 10)
    if number % 3 == 0:
        return json_line(
            request_uri=f"/long/{number}?" + "abc=d&" * 150,
            host="shop.example",
            msec=f"{1.7e9 + number * 977 % 10_000_000:.3f}",
            request_time=1,
        )
    if number % 7 == 0:
        return json_line(host=f"h{number}.example")
    return combined(f"GET /unique/{number}?page={number} HTTP/1.1", second=number // 100)
