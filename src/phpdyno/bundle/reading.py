"""A bundle read into memory, whole and checked: nothing of it is read again while it is applied."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from phpdyno.bundle.apply.tree import digest, read_plain
from phpdyno.bundle.manifest import MANIFEST, Kind, Manifest
from phpdyno.bundle.places import check_places
from phpdyno.bundle.write import texts
from phpdyno.bundle.write.division import SYSCTL
from phpdyno.config.trusted import steered_by
from phpdyno.errors import DynoError, UsageError
from phpdyno.knobs.judge import check_values
from phpdyno.model.decoding import NOT_JSON

AS_SETTINGS_SAY: dict[Kind, Callable[[Mapping[str, str], str], str]] = {
    "nginx": texts.nginx_text,
    "sysctl": texts.sysctl_text,
    "systemd": texts.systemd_text,
}
"""How files are written that hold their settings and no line besides."""


class Bundle(Struct, frozen=True):
    """The manifest with its checksum, and the content of every file that it names, by its path in
    the bundle."""

    directory: Path
    manifest: Manifest
    sha256: str
    contents: dict[str, bytes]


def read_bundle(directory: Path) -> Bundle:
    """Read a bundle. Raises UsageError: there is none, another version's, a file missing or
    changed, a place that is none of a bundle's; as root, one on another's word.
    """
    path = directory / MANIFEST
    try:
        data = _read(path)
    except OSError as error:
        raise UsageError(f"this is no bundle: {error.strerror}", where=str(path), next_step="name a directory runs/…/bundle") from error
    manifest = _decoded(data, path)
    contents = {each.path: _checked(directory, each.path, each.sha256) for each in manifest.files}
    contents |= {each.path: _checked(directory, each.path, each.sha256) for each in manifest.based_on}
    check_places(manifest, where=str(path))
    _check_settings(manifest, path)
    _check_texts(manifest, contents, directory)
    return Bundle(directory, manifest, digest(data), contents)


def _decoded(data: bytes, path: Path) -> Manifest:
    try:
        return msgspec.json.decode(data, type=Manifest)
    except NOT_JSON as error:
        raise UsageError(
            f"this manifest is not understood: {error}", where=str(path), next_step="was it edited, or made by another version?"
        ) from error


def _checked(directory: Path, name: str, checksum: str) -> bytes:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or str(relative) != name or not name.isprintable():
        raise UsageError(f"{name!r} is no name of a file in a bundle", where=str(directory / MANIFEST))
    path = directory / relative
    try:
        data = _read(path)
    except OSError as error:
        raise UsageError(f"the manifest names this file: {error.strerror}", where=str(path), next_step="copy the bundle again") from error
    if digest(data) != checksum:
        what = "its checksum is not the manifest's: it was changed since the bundle was made"
        raise UsageError(what, where=str(path), next_step="copy the bundle again, or measure and make a new one")
    return data


def _check_settings(manifest: Manifest, path: Path) -> None:
    check_values(manifest.settings, where=str(path))
    for each in manifest.files:
        if unknown := sorted(set(each.settings) - manifest.settings.keys()):
            what = f"{each.path} carries {unknown[0]}, which is not among the settings"
            raise UsageError(what, where=str(path), next_step="copy the bundle again")


def _check_texts(manifest: Manifest, contents: Mapping[str, bytes], directory: Path) -> None:
    """What root's own programs obey says what the settings do, and nothing else; comments may
    differ."""
    for each in manifest.files:
        render = AS_SETTINGS_SAY.get(each.kind)
        if render is None:
            continue
        lines = {_key(each.kind, name): manifest.settings[name] for name in each.settings}
        if _said(contents[each.path]) != _said(render(lines, manifest.run).encode()):
            what = "this file says something else than the settings that it carries"
            raise UsageError(what, where=str(directory / each.path), next_step="copy the bundle again, or place the file by hand")


def _key(kind: Kind, name: str) -> str:
    """The name of a setting as its file has it."""
    sysctl = SYSCTL.fullmatch(name) if kind == "sysctl" else None
    return sysctl[1] if sysctl else name.partition(".")[2]


def _said(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if line and not line.startswith(b"#")]


def _read(path: Path) -> bytes:
    """The content of a file; as root only of one that root, the sudo caller or the owner of
    phpdyno's code wrote."""

    def refuse_others(opened: os.stat_result) -> None:
        if (author := steered_by(path, opened)) != 0:
            what = f"root would apply this on the word of account number {author}"
            raise UsageError(what, where=str(path), next_step="copy the bundle to a directory of root's, after a look at it")

    return read_plain(path, refuse_others)


def shown(data: bytes) -> str:
    """Content as text, for a diff."""
    return data.decode("utf-8", "replace")


def refuse_empty(bundle: Bundle) -> None:
    """Raises DynoError for a bundle that places nothing."""
    if not bundle.manifest.files:
        raise DynoError(
            "this bundle holds no file to place", where=str(bundle.directory), next_step="its README.md says what is left to do by hand"
        )
