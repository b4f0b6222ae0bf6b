"""A memory map by what is mapped, from smaps as the kernel writes it."""

import os
from pathlib import Path

import pytest

from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.processes.memory import MemoryUnreadable
from phpdyno.host.processes.memory_map import kind_of, parse_map, read_map_of
from phpdyno.model.inside.memory_map import Mapped

FPM = "/usr/sbin/php-fpm8.2"
SMAPS = """55d0-55d1 r-xp 00000000 08:01 11  /usr/sbin/php-fpm8.2
Size:               4000 kB
Rss:                3000 kB
Pss:                1000 kB
Private_Clean:         0 kB
Private_Dirty:         8 kB
Pss_Dirty:             8 kB
55d2-55d3 rw-p 00000000 00:00 0  [heap]
Rss:                 100 kB
Pss:                  60 kB
Private_Clean:         0 kB
Private_Dirty:        40 kB
7f00-7f01 rw-s 00000000 00:01 1026  /dev/zero (deleted)
Rss:                9000 kB
Pss:                4500 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
7f02-7f03 rw-p 00000000 00:00 0
Rss:                2048 kB
Pss:                2048 kB
Private_Clean:         0 kB
Private_Dirty:      2048 kB
7f04-7f05 r-xp 00000000 08:01 12  /usr/lib/x86_64-linux-gnu/libc.so.6
Rss:                1000 kB
Pss:                 100 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
VmFlags: rd ex
"""


def test_every_mapping_counts_for_one_kind() -> None:
    assert parse_map(SMAPS, FPM) == {
        "shared": Mapped(4500, 0, 9000),
        "anonymous": Mapped(2048, 2048, 2048),
        "program": Mapped(1000, 8, 3000),
        "libraries": Mapped(100, 0, 1000),
        "heap": Mapped(60, 40, 100),
    }


@pytest.mark.parametrize(
    ("permissions", "name", "kind"),
    [
        ("rw-s", "", "shared"),
        ("rw-p", "/memfd:opcache (deleted)", "shared"),
        ("rw-p", "[stack]", "stack"),
        ("r-xp", "[vdso]", "stack"),
        ("rw-p", "[anon:zend_alloc]", "anonymous"),
        ("r--p", "/usr/lib/locale/C.utf8/LC_CTYPE", "files"),
        ("r-xp", "/usr/lib/php/20220829/opcache.so", "libraries"),
        ("r-xp", f"{FPM} (deleted)", "program"),
    ],
)
def test_kinds(permissions: str, name: str, kind: str) -> None:
    assert kind_of(permissions, name, FPM) == kind


def test_what_is_no_map_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no mapping"):
        parse_map("", FPM)
    with pytest.raises(MemoryUnreadable, match="cannot be read"):
        read_map_of(7, FPM, SmallFiles(tmp_path))


def test_our_own_map_adds_up() -> None:
    found = read_map_of(os.getpid(), str(Path("/proc/self/exe").resolve()))
    assert found["program"].rss_kib > 0
    assert found["stack"].pss_kib > 0
    assert sum(each.pss_kib for each in found.values()) > 1000
