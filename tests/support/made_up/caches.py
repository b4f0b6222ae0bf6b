"""A cache made up for tests: an entry of each kind, and files of somebody else's."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from phpdyno.php_build.workshop import write_build
from tests.support.made_up.builds import BUILD

A, B, C = ("0123456789abcdef", "fedcba9876543210", "00112233445566aa")
APP, SEED, EMPTY = f"apps/wordpress-{A}", f"apps/seed-{B}", f"apps/seed-{C}"
PARTIAL = f"apps/mediawiki-{A}.partial"
SOURCE, TREE, FINISHED = f"builds/sources/{A}", f"builds/trees/{B}", f"builds/finished/{C}"
REQUESTS, ARCHIVES, PHP_CONFIG = f"builds/requests/{A}.json", "builds/apt", "builds/php-config/8.2.29-1~deb12u1"
SCRIPT = f"preload/{A}.php"
OURS = (APP, SEED, EMPTY, PARTIAL, SOURCE, TREE, FINISHED, REQUESTS, ARCHIVES, PHP_CONFIG, SCRIPT)
FOREIGN = (
    "notes.txt",
    "apps/mine",
    f"apps/Wordpress-{A}",
    f"apps/other-{A}",
    f"apps/linked-{A}",
    "builds/attic",
    "builds/sources/mine",
    f"builds/sources/{A}0",
    "builds/requests/mine.json",
    "preload/mine.php",
)
KIB_64 = 64 << 10


def make_cache(cache: Path) -> Path:
    """The cache; what is in it was made one second after the other, in the order of OURS."""
    _directory(cache / APP, {"kind": "wordpress", "package wordpress": "6.1.1", "package php-getid3": "1.9"}, "entry.json")
    _directory(cache / SEED, {"kind": "seed", "database": "shop", "mariadb": "10.11", "dump": "d00d" * 16}, "entry.json")
    _directory(cache / EMPTY, {"kind": "seed", "database": "app", "mariadb": "10.11", "dump": ""}, "entry.json")
    _directory(cache / PARTIAL)
    _directory(cache / SOURCE, {"package": "php8.2", "version": "8.2.29-1"}, "done.json")
    _directory(cache / TREE)
    _directory(cache / FINISHED, {"method": 1}, "done.json")
    write_build(cache / FINISHED, structs.replace(BUILD, name="pgo-1a2b3c4d"))
    _directory(cache / ARCHIVES)
    _directory(cache / PHP_CONFIG)
    for name in (REQUESTS, SCRIPT):
        _file(cache / name)
    for lock in ("apps/wordpress.lock", "apps/seed.lock", "builds/lock"):
        (cache / lock).touch()
    for number, name in enumerate(OURS):
        for path in (cache / name, *(cache / name).glob("*.json")):
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    _foreign(cache)
    return cache


def _foreign(cache: Path) -> None:
    for name in FOREIGN:
        place = cache / name
        if name.endswith((".txt", ".json", ".php")):
            _file(place)
        elif "linked" in name:
            place.symlink_to(cache / APP)
        else:
            _directory(place, {"kind": "something else"}, "entry.json")


def _directory(place: Path, key: Mapping[str, object] | None = None, marker: str = "") -> None:
    (place / "inner").mkdir(parents=True)
    (place / "inner" / "data").write_bytes(b"x" * KIB_64)
    if key is not None:
        (place / marker).write_text(json.dumps(key))


def _file(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("x")
