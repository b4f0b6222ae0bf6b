"""Writing a bundle from what was accepted."""

import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field

from phpdyno.bundle import texts
from phpdyno.bundle.basis import settings_of
from phpdyno.bundle.division import PRELOAD, Division, divide, fragment_names
from phpdyno.bundle.manifest import MANIFEST, README, BasedOn, ByHand, Evidence, Kind, Manifest, PhpPlace, ShippedFile
from phpdyno.bundle.readme import readme
from phpdyno.bundle.tree import digest
from phpdyno.errors import DynoError
from phpdyno.model.facts import HostFacts

RENDER: dict[Kind, Callable[[Mapping[str, str], str], str]] = {
    "ini": texts.ini_text,
    "nginx": texts.nginx_text,
    "sysctl": texts.sysctl_text,
    "systemd": texts.systemd_text,
}
BASIS = "based-on"


class Findings(Struct, frozen=True, kw_only=True):
    """What a bundle is made of. `settings` are the accepted ones by full knob name, `preload` is the preload script's text ('' for none).

    `based_on` are the configuration files that the control was read from, content by absolute path; none without `--control live`.
    """

    run: str
    app: str
    seed: int
    php: PhpPlace
    host: HostFacts
    control: dict[str, str]
    settings: dict[str, str]
    effects: tuple[Evidence, ...]
    together: Evidence | None = None
    preload: str = ""
    based_on: dict[str, str] = field(default_factory=dict)


def write_bundle(directory: Path, found: Findings, *, now: datetime | None = None) -> Manifest:
    """Write the whole directory; one that is there already is replaced once the new one is complete. Raises UsageError, DynoError."""
    manifest, contents = make_bundle(found, now or datetime.now(UTC).astimezone())
    if directory.is_symlink() or (directory.exists() and not (directory / MANIFEST).is_file()):
        raise DynoError("something else lies here", where=str(directory), next_step="move it away")
    fresh = directory.with_name(f".{directory.name}-new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        for name, text in contents.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_bytes(text))
        shutil.rmtree(directory, ignore_errors=True)
        fresh.rename(directory)
    except OSError as error:
        raise DynoError(f"cannot write the bundle: {error.strerror}", where=str(directory)) from error
    return manifest


def make_bundle(found: Findings, now: datetime) -> tuple[Manifest, dict[str, str]]:
    """The manifest and every file by its path in the bundle, manifest and README included. Pure."""
    shipped = _shipped(found)
    contents = {path: text for _, path, _, text, _ in shipped}
    files = tuple(
        ShippedFile(path=path, kind=kind, target=target, sha256=digest(_bytes(text)), settings=names)
        for kind, path, target, text, names in shipped
    )
    based_on = []
    for target, text in sorted(found.based_on.items()):
        path = f"{BASIS}{target}.txt"
        contents[path] = settings_of(text)
        based_on.append(BasedOn(target=target, path=path, sha256=digest(_bytes(contents[path]))))
    division = _division(found)
    manifest = Manifest(
        made=now.isoformat(timespec="seconds"),
        run=found.run,
        app=found.app,
        seed=found.seed,
        php=found.php,
        host=found.host,
        control=found.control,
        settings=found.settings,
        effects=found.effects,
        together=found.together,
        files=files,
        based_on=tuple(based_on),
        by_hand=tuple(ByHand(setting=name, value=found.settings[name], todo=todo) for name, todo in division.by_hand.items()),
    )
    contents[README] = readme(manifest)
    contents[MANIFEST] = msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n"
    return manifest, contents


_Shipped = tuple[Kind, str, str, str, tuple[str, ...]]
"""Kind, path in the bundle, target, text, names of its settings."""


def _shipped(found: Findings) -> list[_Shipped]:
    php, division = found.php, _division(found)
    first, last = fragment_names(php.pool_file)
    places: dict[Kind, tuple[str, str]] = {
        "preload": ("preload.php", _preload_target(found)),
        "ini": ("php/99-phpdyno.ini", f"{php.ini_dir}/99-phpdyno.ini"),
        "pool-first": (f"pool/{first}", f"{php.pool_dir}/{first}"),
        "pool-last": (f"pool/{last}", f"{php.pool_dir}/{last}"),
        "nginx": ("nginx/phpdyno.conf", "/etc/nginx/conf.d/phpdyno.conf"),
        "sysctl": ("sysctl/99-phpdyno.conf", "/etc/sysctl.d/99-phpdyno.conf"),
        "systemd": ("systemd/phpdyno.conf", f"/etc/systemd/system/{php.unit}.service.d/phpdyno.conf"),
    }
    shipped: list[_Shipped] = []
    if found.preload and PRELOAD in division.of.get("ini", ()):
        shipped.append(("preload", *places["preload"], found.preload, ()))
    for kind, lines in division.texts.items():
        text = texts.pool_text(lines, php.pool, found.run) if kind.startswith("pool") else RENDER[kind](lines, found.run)
        shipped.append((kind, *places[kind], text, tuple(division.of[kind])))
    return shipped


def _division(found: Findings) -> Division:
    return divide(found.settings, found.control, found.php, preload=_preload_target(found) if found.preload else "")


def _preload_target(found: Findings) -> str:
    """Beside php-fpm's own configuration, where the site's deployments change nothing."""
    return f"{Path(found.php.config).parent}/phpdyno-preload.php"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
