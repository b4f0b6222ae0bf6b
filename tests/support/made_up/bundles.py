"""Bundles and trees of files made up for tests, and servers that only say what they are told to."""

import errno
import os
import stat
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from phpdyno.bundle.apply.tree import Disk, TargetTree
from phpdyno.bundle.manifest import Evidence, debian_place
from phpdyno.bundle.reading import Bundle, read_bundle
from phpdyno.bundle.write.making import BundleContents, write_bundle
from phpdyno.model.facts import HostFacts

FPM = "/usr/sbin/php-fpm8.2"
PHP = debian_place("8.2.29", FPM)
HOST = HostFacts(
    kernel="6.1.0-made-up",
    cpu_model="Made-up CPU",
    cores=4,
    memory_kib=16 << 20,
    clock_source="tsc",
    governor="performance",
    thp="madvise",
    hugetlb_pages=0,
    load_1min=0.1,
    steal_fraction=0.0,
    cpu_source="cgroup",
    measured_cores=(1,),
    helper_cores=(0,),
)
JIT = {"ini.opcache.jit": "tracing", "ini.opcache.jit_buffer_size": "64M"}
SETTINGS = {
    **JIT,
    "ini.memory_limit": "256M",
    "pool.pm": "static",
    "pool.pm.max_children": "8",
    "env.LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    "web.fastcgi_buffers": "16 16k",
    "web.workers": "2",
    "os.vm.nr_hugepages": "64",
}
CONTROL = {"pool.pm": "dynamic", "pool.pm.max_children": "5", "pool.php_admin_value[memory_limit]": "128M"}
EFFECT = Evidence(
    name="the JIT",
    settings=JIT,
    metric="cpu",
    ratio=1.073,
    low=1.062,
    high=1.084,
    confidence=0.95,
    blocks=21,
    verdict="improved, relevant",
)
POOL = "[www]\nuser = www-data\nlisten = /run/php/php8.2-fpm.sock\npm = dynamic\npm.max_children = 5\n"
OLD_INI = "; by hand\nmemory_limit = 128M\n"
INI = "/etc/php/8.2/fpm/conf.d/99-phpdyno.ini"
POOL_FILE = "/etc/php/8.2/fpm/pool.d/www.conf"


def findings(**changed: object) -> BundleContents:
    """What a bundle is made of, with these differences."""
    made: dict[str, object] = {
        "run": "2026-tune-shop",
        "app": "shop",
        "seed": 7,
        "php": PHP,
        "host": HOST,
        "control": CONTROL,
        "settings": SETTINGS,
        "effects": (EFFECT,),
        "together": EFFECT,
        **changed,
    }
    return BundleContents(**made)  # type: ignore[arg-type]


def bundle(place: Path, **changed: object) -> Bundle:
    """One that is written and read again."""
    place.mkdir(parents=True, exist_ok=True)
    write_bundle(place / "bundle", findings(**changed), now=datetime(2026, 11, 22, tzinfo=UTC))
    return read_bundle(place / "bundle")


def image(root: Path) -> TargetTree:
    """A tree as Debian's packages leave it, as far as a bundle is concerned; one of its targets is
    there already."""
    for name in ("etc/php/8.2/fpm/conf.d", "etc/php/8.2/fpm/pool.d", "etc/nginx/conf.d", "etc/sysctl.d", "etc/systemd/system", "var/lib"):
        (root / name).mkdir(parents=True)
    (root / "usr/sbin").mkdir(parents=True)
    put(root, FPM, "").chmod(0o755)
    put(root, POOL_FILE, POOL)
    put(root, INI, OLD_INI).chmod(0o640)
    return TargetTree(root)


def put(root: Path, target: str, text: str) -> Path:
    """A file of a tree."""
    path = root / target.lstrip("/")
    path.write_text(text)
    return path


def photograph(root: Path, *, without: str = "") -> dict[str, tuple[object, ...]]:
    """Everything in a tree: kind and mode, owner, content. `without` leaves out what lies below
    it."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if without and (name == without or name.startswith(f"{without}/")):
            continue
        status = path.lstat()
        content: object = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[name] = (stat.filemode(status.st_mode), status.st_uid, status.st_gid, content)
    return found


class FakeServers:
    """Answers of php-fpm and nginx. `refuses`: a file whose presence makes `-t` fail; `warns`: a
    line that it adds."""

    def __init__(self, version: str = "8.2.29", *, refuses: Path | None = None, warns: str = "", broken: bool = False) -> None:
        self.asked: list[list[str]] = []
        self._version = version
        self._refuses = refuses
        self._warns = warns
        self._broken = broken

    def __call__(self, argv: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
        self.asked.append(list(argv))
        if argv[-1] == "-v":
            return subprocess.CompletedProcess(argv, 0, f"PHP {self._version} (fpm-fcgi)\n".encode(), b"")
        there = self._refuses is not None and os.path.lexists(self._refuses)
        if self._broken or (there and not self._warns):
            lines = b"[22-Nov-2026 00:00:00] ERROR: [pool www] pm.max_children must be a positive value\n[22-Nov-2026] ERROR: FPM failed\n"
            return subprocess.CompletedProcess(argv, 78, b"", lines)
        warning = f"{self._warns}\n" if there else ""
        return subprocess.CompletedProcess(argv, 0, b"", f"{warning}[22-Nov-2026 00:00:00] NOTICE: test is successful\n".encode())


class FakeFullDisk(Disk):
    """A disk with room for so many more files."""

    def __init__(self, room: int) -> None:
        self._room = room

    def step(self, what: str) -> None:
        """Writes fail once it is full, removing works."""
        if what.startswith("write "):
            if not self._room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._room -= 1


class Killed(BaseException):
    """SIGKILL: nothing of ours runs any more, so nothing may catch it."""


class FakeDisk(Disk):
    """A disk whose owner is killed before its n-th change; without a number all are made, and
    counted."""

    def __init__(self, left: int | None = None) -> None:
        self.made = 0
        self._left = left

    def step(self, what: str) -> None:
        """One more, or the end."""
        if self._left is not None and self.made >= self._left:
            raise Killed(what)
        self.made += 1
