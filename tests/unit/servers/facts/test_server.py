"""What the kernel's tables and an ELF file say of servers and workers; what cannot be read is
None."""

import os
import struct
from pathlib import Path

from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.facts import ServerFacts
from phpdyno.servers.facts.server import (
    binds_later,
    code_huge_kib,
    connected_at,
    established_at,
    kernel_facts,
    may_hold_moved_code,
    server_facts,
    text_kib,
    thp_off,
)
from phpdyno.servers.instance import names_manager

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36")
UNIX = """Num       RefCount Protocol Flags    Type St Inode Path
0000: 00000002 00000000 00010000 0001 01 41 /live/i1/run/fpm.sock
0000: 00000003 00000000 00000000 0001 03 42 /live/i1/run/fpm.sock
0000: 00000003 00000000 00000000 0001 03 43
0000: 00000003 00000000 00000000 0001 03 44 /live/i2/run/fpm.sock
"""
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:2328 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0100007F:2328 0100007F:C351 06 00000000:00000000 00:00000000 00000000     0        0 0
   3: 0100007F:C350 0100007F:2328 01 00000000:00000000 00:00000000 00000000     0        0 3
"""
MAPS = """55d0a0000000-55d0a0100000 r--p 00000000 fe:00 1 /usr/sbin/php-fpm8.2
55d0a0100000-55d0a0400000 r-xp 00100000 fe:00 1 /usr/sbin/php-fpm8.2
7f0000000000-7f0000100000 r-xp 00000000 fe:00 2 /usr/lib/libc.so.6
7f0000200000-7f0000300000 rw-p 00000000 00:00 0
"""
SMAPS = """55d0a0100000-55d0a0200000 r-xp 00100000 fe:00 1                          /usr/sbin/php-fpm8.2
Size:               1024 kB
AnonHugePages:         0 kB
VmFlags: rd ex mr mw me
55d0a0200000-55d0a0400000 r-xp 00000000 00:00 0
AnonHugePages:      2048 kB
Shared_Hugetlb:        0 kB
55d0a0400000-55d0a0800000 r-xp 00000000 00:0f 17                         /anon_hugepage (deleted)
Shared_Hugetlb:     4096 kB
Private_Hugetlb:       0 kB
7f0000000000-7f0004000000 rwxs 00000000 00:0f 18                         /anon_hugepage (deleted)
Shared_Hugetlb:    65536 kB
7f0010000000-7f0010200000 rw-p 00000000 00:00 0                          [heap]
AnonHugePages:      2048 kB
"""


def test_what_the_kernel_s_tables_say() -> None:
    assert connected_at("/live/i1/run/fpm.sock", UNIX) == 1
    assert connected_at("/live/i3/run/fpm.sock", UNIX) == 0
    assert established_at(9000, TCP) == 1
    assert text_kib(MAPS, "/usr/sbin/php-fpm8.2") == 3072
    assert thp_off("Name:\tphp\nTHP_enabled:\t1\n") is False
    assert thp_off("THP_enabled:\t0\n") is True
    assert thp_off("Name:\tphp\n") is None


def test_code_on_huge_pages_is_that_of_no_shared_memory() -> None:
    assert code_huge_kib(MAPS) == 0
    assert code_huge_kib(SMAPS) == 2048 + 4096
    assert text_kib(SMAPS, "/usr/sbin/php-fpm8.2") == 1024
    # For that it is looked into where there may be some.
    assert may_hold_moved_code(SMAPS)
    assert not may_hold_moved_code(MAPS)
    regular = "7f0000000000-7f0000400000 r-xp 00000000 fe:00 9 /usr/bin/large\n7f0000800000-7f0000810000 rwxp 00000000 00:00 0\n"
    assert not may_hold_moved_code(regular)


def elf(*entries: tuple[int, int]) -> bytes:
    head = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, 1) + bytes(6)
    table = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    return head + struct.pack("<IIQQQQQQ", 2, 0, 120, 0, 0, len(table), 0, 0) + table


def test_what_an_elf_file_says_of_binding() -> None:
    assert binds_later(elf((1, 5), (0, 0)))
    assert not binds_later(elf((30, 8), (0, 0)))
    assert not binds_later(elf((0x6FFFFFFB, 1), (0, 0)))
    assert not binds_later(elf((24, 0), (0, 0)))
    assert not binds_later(b"#!/bin/sh\n")


def test_an_elf_file_that_is_cut_short_breaks_nothing(tmp_path: Path) -> None:
    cut = tmp_path / "cut.so"
    cut.write_bytes(elf((1, 5), (0, 0))[:100])
    assert kernel_facts(os.getpid(), "/nowhere", (str(cut), "/dev/zero"), lazy=True).lazy == ()
    whole = tmp_path / "whole.so"
    whole.write_bytes(elf((1, 5), (0, 0)))
    assert kernel_facts(os.getpid(), "/nowhere", (str(whole),), lazy=True).lazy == (str(whole),)
    assert kernel_facts(os.getpid(), "/nowhere", (str(whole),), lazy=False).lazy is None


def test_servers_that_are_not_there_show_nothing(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'fpm.sock'}"
    found = server_facts(address, status=address, web=None, log=tmp_path / "access.log", kept=True)
    assert found == ServerFacts(kept_connections=0, web_workers=0)
    (tmp_path / "access.log").write_text("line\n")
    assert server_facts(address, status="", web=None, log=tmp_path / "access.log", kept=False) == ServerFacts(
        web_workers=0, access_log_bytes=5
    )


def test_the_pool_is_asked_where_an_arm_changes_how_it_manages_workers() -> None:
    assert names_manager(Arm("a", PHP, changed={"pool.pm": "dynamic"}))
    assert names_manager(Arm("a", PHP, changed={"pool.pm.max_children": "4"}))
    assert not names_manager(Arm("control", PHP, settings={"pool.pm": "dynamic"}))
    assert not names_manager(Arm("a", PHP, changed={"pool.pm.max_requests": "1"}))
