"""The kernel's time in interrupts: made-up files, and this kernel's own."""

import gzip
import os
import socket
from pathlib import Path

import pytest

from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.sockets.kernel_network import counts_interrupts_apart, interrupt_ns, network_between, parse_softirqs, read_kernel_network
from phpdyno.model.runs.readings import CoreNetwork, KernelNetwork

STAT = "cpu  60 0 0 125 0 3 12 15 0 0\ncpu0 10 0 0 90 0 1 2 0 0 0\ncpu2 50 0 0 35 0 2 10 15 0 0\nintr 1 2\nctxt 5\n"
# As the kernel writes it: a column per possible core, also of one that is off.
SOFTIRQS = "        CPU0   CPU1   CPU2\n  NET_TX:   48      0     31\n  NET_RX:  100      0    200\n"
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def proc(root: Path, stat: str | None = STAT, softirqs: str | None = SOFTIRQS) -> SmallFiles:
    (root / "proc").mkdir(exist_ok=True)
    for name, text in (("stat", stat), ("softirqs", softirqs)):
        if text is not None:
            (root / "proc" / name).write_text(text)
    return SmallFiles(root)


def test_time_and_counts_of_each_core(tmp_path: Path) -> None:
    read = read_kernel_network(proc(tmp_path), apart=False)
    assert read == KernelNetwork((CoreNetwork(0, TICK_NS, 2 * TICK_NS, 100, 48), CoreNetwork(2, 2 * TICK_NS, 10 * TICK_NS, 200, 31)), False)
    assert interrupt_ns(read) == 15 * TICK_NS
    assert interrupt_ns(read, (2,)) == 12 * TICK_NS
    assert interrupt_ns(read, (1,)) == 0


def test_what_is_missing(tmp_path: Path) -> None:
    assert read_kernel_network(SmallFiles(tmp_path)) is None
    read = read_kernel_network(proc(tmp_path, softirqs=None))
    assert read is not None
    assert [each.net_rx for each in read.cores] == [0, 0]
    assert parse_softirqs("") == {}


def test_the_difference_is_of_cores_that_were_there_all_the_time() -> None:
    before = KernelNetwork((CoreNetwork(0, 1, 2, 3, 4), CoreNetwork(1, 9, 9, 9, 9)), None)
    after = KernelNetwork((CoreNetwork(0, 11, 22, 33, 44), CoreNetwork(2, 5, 5, 5, 5)), None)
    assert network_between(before, after) == KernelNetwork((CoreNetwork(0, 10, 20, 30, 40),), None)


@pytest.mark.parametrize(
    ("config", "apart"),
    [
        ("CONFIG_IRQ_TIME_ACCOUNTING=y\n", True),
        ("# CONFIG_IRQ_TIME_ACCOUNTING is not set\n", False),
        ("CONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\n", False),
    ],
)
def test_how_interrupts_are_accounted_is_in_the_kernels_configuration(tmp_path: Path, config: str, apart: bool) -> None:
    assert counts_interrupts_apart(SmallFiles(tmp_path), "6.1") is None
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/config-6.1").write_text(config)
    assert counts_interrupts_apart(SmallFiles(tmp_path), "6.1") is apart
    (tmp_path / "boot/config-6.1").unlink()
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(config.encode()))
    assert counts_interrupts_apart(SmallFiles(tmp_path), "6.1") is apart


def test_a_file_of_the_option_tells_it_and_a_broken_configuration_nothing(tmp_path: Path) -> None:
    (tmp_path / "proc/pressure").mkdir(parents=True)
    (tmp_path / "proc/config.gz").write_bytes(b"\x1f\x8bhalf")
    assert counts_interrupts_apart(SmallFiles(tmp_path), "6.1") is None
    (tmp_path / "proc/pressure/irq").touch()
    assert counts_interrupts_apart(SmallFiles(tmp_path), "6.1") is True


def test_what_a_core_sends_over_loopback_it_receives_itself() -> None:
    """The reason why no share of it can be told from the sender's own work."""
    core = min(os.sched_getaffinity(0))
    ours = os.sched_getaffinity(0)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        peer, _ = listener.accept()
        with peer:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            os.sched_setaffinity(0, {core})
            try:
                before = read_kernel_network()
                for _ in range(2000):
                    client.send(b"x")
                    peer.recv(1)
                after = read_kernel_network()
            finally:
                os.sched_setaffinity(0, ours)
    assert before is not None
    assert after is not None
    spent = network_between(before, after)
    assert next(each.net_rx for each in spent.cores if each.core == core) >= 2000
