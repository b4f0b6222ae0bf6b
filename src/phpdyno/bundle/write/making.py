"""Writing a bundle from what was accepted."""

import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field, structs

from phpdyno.bundle.apply.tree import digest
from phpdyno.bundle.manifest import MANIFEST, PROGRAM, README, BasedOn, ByHand, Evidence, Kind, Manifest, PhpPlace, ShippedFile
from phpdyno.bundle.write import texts
from phpdyno.bundle.write.basis import settings_of
from phpdyno.bundle.write.division import PRELOAD, Division, divide, fragment_names
from phpdyno.bundle.write.readme import readme
from phpdyno.bundle.write.rebuilt import Rebuilt
from phpdyno.errors import DynoError
from phpdyno.host.files.scratch import scratch_directory
from phpdyno.knobs.catalogue.host import PAGES
from phpdyno.model.facts import HostFacts

RENDER: dict[Kind, Callable[[Mapping[str, str], str], str]] = {
    "ini": texts.ini_text,
    "nginx": texts.nginx_text,
    "sysctl": texts.sysctl_text,
    "systemd": texts.systemd_text,
}
BASIS = "based-on"
UNPLACED = (
    "tell php-fpm's service where the app lies, Environment=PHPDYNO_PRELOAD_ROOT=DIRECTORY (systemctl edit {unit}): "
    "an app of phpdyno's own was measured, so the script does not know your copy, and preloads nothing before"
)


class BundleContents(Struct, frozen=True, kw_only=True):
    """What a bundle is made of. `settings` are the accepted ones by full knob name, `preload` is
    the preload script's text ('' for none).

    `preload_root` is where that script looks for the app, '' where nobody knows. `based_on` are the
    configuration files that the control was read from, content by absolute path; none without
    `--control live`. `rebuilt` is the build that was adopted, if one was. `remarks` say why of
    directives of the pool, by full setting name.
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
    preload_root: str = ""
    based_on: dict[str, str] = field(default_factory=dict)
    rebuilt: Rebuilt | None = None
    remarks: dict[str, str] = field(default_factory=dict)


def write_bundle(directory: Path, found: BundleContents, *, now: datetime | None = None) -> Manifest:
    """Write the whole directory; one that is there already is replaced once the new one is
    complete. Raises UsageError, DynoError."""
    manifest, contents = make_bundle(found, now or datetime.now(UTC).astimezone())
    if directory.is_symlink() or (directory.exists() and not (directory / MANIFEST).is_file()):
        raise DynoError("something else lies here", where=str(directory), next_step="move it away")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with scratch_directory(directory.parent) as place:
            fresh = place / directory.name
            fresh.mkdir()
            fresh.chmod(0o755)
            for name, text in contents.items():
                path = fresh / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_bytes(text))
            shutil.rmtree(directory, ignore_errors=True)
            fresh.rename(directory)
    except OSError as error:
        raise DynoError(f"cannot write the bundle: {error.strerror}", where=str(directory)) from error
    return manifest


def make_bundle(found: BundleContents, now: datetime) -> tuple[Manifest, dict[str, str]]:
    """The manifest and every file by its path in the bundle, manifest and README included. Pure."""
    rebuilt, stock = found.rebuilt, found.php
    if rebuilt is not None:
        found = structs.replace(found, php=rebuilt.place(stock), settings=rebuilt.adopted(found.settings, stock))
    found = structs.replace(found, settings=_beside_others(found.settings, found.host))
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
        by_hand=(
            *((rebuilt.by_hand(stock),) if rebuilt is not None else ()),
            *_unplaced(found),
            *(ByHand(setting=name, value=found.settings[name], todo=todo) for name, todo in division.by_hand.items()),
        ),
    )
    contents[README] = readme(manifest)
    contents[MANIFEST] = msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n"
    return manifest, contents


_Shipped = tuple[Kind, str, str, str, tuple[str, ...]]
"""Kind, path in the bundle, target, text, names of its settings."""


def _shipped(found: BundleContents) -> list[_Shipped]:
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
    remarks = {name.removeprefix("pool."): why for name, why in found.remarks.items()}
    for kind, lines in division.texts.items():
        text = texts.pool_text(lines, php.pool, found.run, remarks) if kind.startswith("pool") else RENDER[kind](lines, found.run)
        shipped.append((kind, *places[kind], text, tuple(division.of[kind])))
    return shipped


def _division(found: BundleContents) -> Division:
    settings = {name: value for name, value in found.settings.items() if found.rebuilt is None or name != PROGRAM}
    return divide(settings, found.control, found.php, preload=_preload_target(found) if found.preload else "")


def _unplaced(found: BundleContents) -> tuple[ByHand, ...]:
    if not found.preload or found.preload_root or PRELOAD not in found.settings:
        return ()
    return (ByHand(setting=PRELOAD, value=_preload_target(found), todo=UNPLACED.format(unit=found.php.unit)),)


def _beside_others(settings: Mapping[str, str], host: HostFacts) -> dict[str, str]:
    """Reserved huge pages were measured as the site's own: those that the host reserved before are
    somebody else's, and stay so."""
    return {**settings, PAGES: str(int(settings[PAGES]) + host.hugetlb_pages)} if PAGES in settings else dict(settings)


def _preload_target(found: BundleContents) -> str:
    """Beside php-fpm's own configuration, where the site's deployments change nothing."""
    return f"{Path(found.php.config).parent}/phpdyno-preload.php"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
