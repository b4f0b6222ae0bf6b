"""What is asked of the servers of a tree, and how their answers are read."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.bundle.apply import checking
from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.tree import TargetTree
from phpdyno.errors import DynoError, UsageError
from tests.support.made_up.bundles import FPM, HOST, JIT, PHP, FakeServers, bundle, image


def test_the_images_own_programs_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "find_program", lambda name: f"/found/{name}")
    tree, made = image(tmp_path / "root"), bundle(tmp_path / "made")
    servers = FakeServers()
    checker = Checker(made, tree, ask=servers)
    checker.refuse_other_php()
    checker.refuse_new_faults(checker.refuse_broken())
    chroot = ["/found/chroot", str(tree.root)]
    library = "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    assert servers.asked == [
        [*chroot, FPM, "-n", "-d", "opcache.preload=", "-v"],
        [*chroot, FPM, "-t"],
        [*chroot, "/usr/sbin/nginx", "-t"],
        [*chroot, "/usr/bin/env", library, FPM, "-t"],
        [*chroot, "/usr/sbin/nginx", "-t"],
    ]


def test_php_fpm_is_asked_as_it_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "find_program", lambda name: f"/found/{name}")
    php = structs.replace(PHP, options=("-y", "/etc/own.conf"), scan_dir=":/etc/own.d")
    made = bundle(tmp_path / "made", php=php, settings={"ini.opcache.jit": "off"})
    servers = FakeServers()
    Checker(made, image(tmp_path / "root"), ask=servers).refuse_broken()
    (asked,) = servers.asked
    assert asked[2:] == ["/usr/bin/env", "PHP_INI_SCAN_DIR=:/etc/own.d", FPM, "-y", "/etc/own.conf", "-t"]


def test_times_and_process_numbers_make_no_new_fault(tmp_path: Path) -> None:
    numbers = iter(range(100))

    def fake_ask(argv: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
        number = next(numbers)
        said = f"[22-Nov-2026 00:00:{number:02}] ERROR: pid {number} says so\n2026/11/22 00:00:{number:02} [emerg] {number}#{number}: so\n"
        return subprocess.CompletedProcess(list(argv), 0, b"", said.encode())

    checker = Checker(bundle(tmp_path / "made"), image(tmp_path / "root"), ask=fake_ask)
    checker.refuse_new_faults(checker.refuse_broken())


@pytest.mark.parametrize("argv", [["/nonexistent/php-fpm", "-t"], ["/bin/true", "a\0b"]])
def test_a_program_that_does_not_run(argv: list[str]) -> None:
    with pytest.raises(DynoError, match="does not run"):
        checking.ask_program(argv)


def test_pages_are_counted_on_top_of_those_that_the_machine_reserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, here = structs.replace(HOST, hugetlb_pages=100), TargetTree(Path("/"))
    made, without = bundle(tmp_path / "made", host=host), bundle(tmp_path / "without", host=host, settings=JIT)
    as_measured_or_set_already = iter((100, 164))
    monkeypatch.setattr(checking, "reserved_here", lambda: next(as_measured_or_set_already))
    Checker(made, here, ask=FakeServers()).refuse_other_reserve()
    Checker(made, here, ask=FakeServers()).refuse_other_reserve()
    monkeypatch.setattr(checking, "reserved_here", lambda: 500)
    Checker(made, image(tmp_path / "root"), ask=FakeServers()).refuse_other_reserve()
    Checker(without, here, ask=FakeServers()).refuse_other_reserve()
    told = r"sysctl/99-phpdyno.conf: vm.nr_hugepages=164 .* reserves 100 for others, and this one reserves 500; .* reserve 564 yourself"
    with pytest.raises(UsageError, match=told):
        Checker(made, here, ask=FakeServers()).refuse_other_reserve()


def test_this_machines_reserve_is_read() -> None:
    assert checking.reserved_here() >= 0
