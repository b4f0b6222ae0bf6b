"""Sampled stacks written for other people's tools, a file for each arm."""

from collections.abc import Callable
from pathlib import Path

from phpdyno.commands.explain.folded import folded_text, speedscope
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.inside.explained import Explained
from phpdyno.model.inside.stacks import PhpProfile

FOLDED, SPEEDSCOPE = "--export-folded", "--export-speedscope"


def check_export(place: Path | None, *, option: str, arms: int) -> None:
    """Raise UsageError, before anything is measured, for files that cannot be written, or that are
    there already."""
    if place is None:
        return
    if not place.absolute().parent.is_dir():
        raise UsageError("there is no such directory", where=f"{option} {place}", next_step="make it, or name another file")
    for file in files_of(place, arms):
        if file.exists():
            raise UsageError("exists already", where=f"{option} {file}", next_step="give another name, or remove it first")


def files_of(place: Path, arms: int) -> tuple[Path, ...]:
    """The file of each arm: of two, `stacks.A.txt` and `stacks.B.txt` for `stacks.txt`."""
    return (place,) if arms == 1 else tuple(place.with_name(f"{place.stem}.{letter}{place.suffix}") for letter in "AB")


def export(found: Explained, *, folded: Path | None, scope: Path | None) -> tuple[Path, ...]:
    """Write what was asked for and give the files. Raises DynoError: there are no stacks, or a file
    cannot be written."""
    wanted: list[tuple[Path, Callable[[PhpProfile], bytes]]] = []
    if folded is not None:
        wanted.append((folded, lambda profile: folded_text(profile.wall).encode("utf-8", "replace")))
    if scope is not None:
        wanted.append((scope, lambda profile: speedscope(f"{found.app}, {profile.wall.arm}", (profile.wall, profile.cpu))))
    if not wanted:
        return ()
    if not found.profiles:
        section = found.section("php_functions")
        raise DynoError(f"there are no stacks to export: {section.unread if section else 'none were sampled'}")
    written = []
    for place, made in wanted:
        for file, profile in zip(files_of(place, len(found.profiles)), found.profiles, strict=True):
            try:
                file.write_bytes(made(profile))
            except OSError as error:
                raise DynoError(f"the stacks cannot be written: {error.strerror}", where=str(file)) from error
            written.append(file)
    return tuple(written)
