"""What an instance's php.ini says beside its arm: nothing is written where the live site writes, no
two arms share a cache, and the probe can ask."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from phpdyno.knobs.hardened import SETTING, without_asked
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm, PhpBuild

OWN_INI = {
    # Nothing may be written where the live site writes, nor mailed to its users.
    "session.save_handler": "files",
    "error_log": "",
    "sendmail_path": "/bin/true",
    # The probe, which asks opcache what it holds, lies outside every path.
    "opcache.restrict_api": "",
}
CACHES = ("opcache.file_cache", "soap.wsdl_cache_dir")
"""Directories that are kept from one start to the next: what an arm finds there must be its own."""
SESSIONS = "session.save_path"


def of_php(php: PhpBuild) -> dict[str, str]:
    """What a PHP's own ini files say and we have to say after them, so that the probe is within."""
    return {name: value for name, value in ((SETTING, php.disabled), ("open_basedir", php.fence)) if value}


def askable(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with the functions enabled that the probe asks with."""
    return {name: without_asked(value) if SETTING in name else value for name, value in settings.items()}


def place_of_arm(arm: Arm) -> str:
    """A name for what an arm keeps for itself: the same at every start of it."""
    told = repr((arm.php.fpm, arm.php.build_id, sorted(arm.settings.items())))
    return hashlib.sha256(told.encode(errors="surrogateescape")).hexdigest()[:16]


def with_own_places(ini: Mapping[str, str], arm: Arm, make: Callable[[str], Path]) -> tuple[dict[str, str], dict[str, str]]:
    """The settings with a directory of the arm's own for sessions, where none is named, and instead
    of each cache that is named; and what each of these stands for. `make` makes a directory."""
    place = place_of_arm(arm)
    changed, originals = dict(ini), dict[str, str]()
    if SESSIONS not in changed:
        make("sessions")
        changed[SESSIONS] = str(make(f"sessions/{place}"))
    for name in CACHES:
        if named := changed.get(name, ""):
            make("caches")
            own = make(f"caches/{place}-{name}")
            changed[name] = str(own)
            originals[str(own)] = named
    return changed, originals


def led_to_copy(settings: Mapping[str, str], app: PreparedApp) -> tuple[dict[str, str], dict[str, str]]:
    """The settings with paths below the app's original leading to the copy, where the servers see
    that elsewhere; and what each changed value stands for."""
    if app.seen_at is not None or app.original is None or app.root is None or app.root == app.original:
        return dict(settings), {}
    changed, originals = dict(settings), dict[str, str]()
    for name, value in settings.items():
        parts = [_led(part, app.original, app.root) for part in value.split(":")] if value.startswith(("/", ".:/")) else [value]
        led = ":".join(parts)
        if led != value:
            changed[name], originals[led] = led, value
    return changed, originals


def _led(path: str, original: Path, copy: Path) -> str:
    if not path.startswith("/") or not Path(path).is_relative_to(original):
        return path
    return str(copy / Path(path).relative_to(original))
