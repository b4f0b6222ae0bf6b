"""`phpdyno bundle`: what is done to a tree, and what is printed of it."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from phpdyno.bundle.apply.applying import Outcome, apply, rollback
from phpdyno.bundle.apply.checking import Ask, Checker, ask_program
from phpdyno.bundle.apply.commands import Follow, commands_after, commands_back, follow_of
from phpdyno.bundle.apply.edits import Edited
from phpdyno.bundle.apply.live import read_live
from phpdyno.bundle.apply.record import Record, read_record
from phpdyno.bundle.apply.tree import Disk, TargetTree
from phpdyno.bundle.apply.verifying import Verified, verify
from phpdyno.bundle.reading import Bundle, read_bundle, shown
from phpdyno.bundle.write.readme import effect_in_words
from phpdyno.errors import DynoError, UsageError
from phpdyno.report.words import count, visible
from phpdyno.servers.programs.finding import find_program

EXIT_REFUTED = 1
UNKNOWN_SERVICES = "an earlier phpdyno made its record, which does not say what reads these files: restart php-fpm, and reload nginx"


def run_apply(directory: Path, root: Path, *, reload: Sequence[str] = (), unchecked: bool = False, ask: Ask = ask_program) -> int:
    """Apply, and say what brings it into effect; services named in `reload` are reloaded or
    restarted. Raises UsageError, DynoError."""

    def act() -> int:
        bundle, tree = read_bundle(directory), _tree(root, unchecked=unchecked)
        follow = follow_of(bundle.manifest)
        wanted = _services(follow, reload, tree)
        if wanted and follow.kernel:
            what = "settings of the kernel have to be in force before that service starts"
            raise UsageError(what, where=f"--reload {reload[0]}", next_step="leave it out, and type what apply prints")
        outcome = apply(bundle, tree, Checker(bundle, tree, unchecked=unchecked, ask=ask), Disk())
        _print(_applied(bundle, outcome, unchecked=unchecked))
        return _bring_into_effect(follow, commands_after(follow), wanted, ask)

    return _told(act)


def run_verify(directory: Path, root: Path, *, pool: str = "") -> int:
    """Ask the live workers; 1 where a setting is not at work or none could be asked. Raises
    UsageError, DynoError."""

    def act() -> int:
        bundle, tree = read_bundle(directory), TargetTree(root)
        found = verify(bundle, tree, lambda mark: read_live(bundle.manifest, mark, selector=pool))
        _print(_verified(found))
        return EXIT_REFUTED if found.refuted or (found.proofs and not found.proved) else 0

    return _told(act)


def run_rollback(directory: Path | None, root: Path, *, reload: Sequence[str] = (), discard: bool = False, ask: Ask = ask_program) -> int:
    """Roll back what the record of the tree says, and say what brings that into effect. Raises
    UsageError, DynoError.

    A directory says which bundle is meant; one that is gone or damaged is, where the record says
    that it lay there.
    """

    def act() -> int:
        tree = TargetTree(root)
        record = read_record(tree)
        bundle = _meant(directory, record)
        follow = (record and record.follow) or (follow_of(bundle.manifest) if bundle else None)
        wanted = _services(follow or Follow({}), reload, tree)
        outcome = rollback(bundle, tree, Disk(), discard=discard)
        if outcome.already:
            _print(["nothing to roll back"])
            return 0
        if bundle is None and record is not None:
            _print([f"rolled back by its record: the bundle of the run {record.run}, applied {record.at}"])
        healed = ["an apply that had been ended half-way is undone"] if outcome.healed else []
        _print([*healed, *(f"restored {place}" for place in outcome.restored)])
        if follow is None:
            _print([UNKNOWN_SERVICES])
            return 0
        if follow.kernel:
            _print(["the kernel keeps its present values until they are set otherwise, or until it boots"])
        return _bring_into_effect(follow, commands_back(follow), wanted, ask)

    return _told(act)


def _meant(directory: Path | None, record: Record | None) -> Bundle | None:
    """The bundle in a directory; None where the record has to do. Raises UsageError for one that
    cannot be read and is not the record's."""
    if directory is None:
        return None
    try:
        return read_bundle(directory)
    except DynoError as error:
        if record is None:
            raise
        if not _lay_in(directory, record):
            next_step = f"what is applied is of the run {record.run}; without a directory, that is rolled back: phpdyno bundle rollback"
            raise UsageError(error.what, where=error.where, next_step=next_step) from error
        _print([f"this bundle cannot be read any more ({error.what}): its record has to do"])
        return None


def _lay_in(directory: Path, record: Record) -> bool:
    """Whether the bundle of a record lay in this directory; a record of the first version knows the
    name of the run only."""
    place = shown(os.fsencode(directory.resolve()))
    return place == record.directory if record.directory else record.run in directory.resolve().parts


def _told(act: Callable[[], int]) -> int:
    """Show a difference before the error that it belongs to, and say who could do it where rights
    are missing."""
    try:
        return act()
    except Edited as error:
        sys.stderr.write("".join(f"{visible(line)}\n" for line in error.difference.splitlines()))
        raise
    except PermissionError as error:
        raise DynoError("permission denied", where=str(error.filename or ""), next_step="run phpdyno as root") from error


def _tree(root: Path, *, unchecked: bool) -> TargetTree:
    tree = TargetTree(root)
    if unchecked and tree.is_host:
        raise UsageError("on this machine the configuration is always tested", where="--unchecked", next_step="leave it out")
    return tree


def _services(follow: Follow, named: Sequence[str], tree: TargetTree) -> dict[str, str]:
    """The services to reload or restart, with the verb. Raises UsageError for one that the bundle
    has nothing to do with."""
    known = follow.services
    for name in named:
        if not tree.is_host:
            raise UsageError("no service runs in the tree of an image", where=f"--reload {name}", next_step="leave it out")
        if name.removesuffix(".service") not in known:
            concerned = ", ".join(known) or "none"
            raise UsageError("this bundle does not concern that service", where=f"--reload {name}", next_step=f"it concerns: {concerned}")
    wanted = {name.removesuffix(".service") for name in named}
    return {name: verb for name, verb in known.items() if name in wanted}


def _applied(bundle: Bundle, outcome: Outcome, *, unchecked: bool) -> list[str]:
    manifest = bundle.manifest
    if outcome.already:
        return [f"applied already: {count(len(outcome.placed), 'file')}, none of them edited since"]
    lines = ["an apply that had been ended half-way was undone first"] if outcome.healed else []
    lines += [f"{'replaced' if place in outcome.replaced else 'placed'} {place}" for place in outcome.placed]
    lines.append("not tested, as you asked" if unchecked else "tested: the servers accept the configuration")
    if manifest.together:
        lines.append(f"measured for all of it together: {effect_in_words(manifest.together)}")
    return [*lines, *(f"left to you: {each.setting}: {each.todo}" for each in manifest.by_hand)]


def _bring_into_effect(follow: Follow, commands: Sequence[str], wanted: dict[str, str], ask: Ask) -> int:
    """Run what was named, and say the rest."""
    needed = list(commands)
    if wanted and follow.reread:
        _systemctl(["daemon-reload"], ask)
        needed.remove("systemctl daemon-reload")
    for service, verb in wanted.items():
        _systemctl([verb, service], ask)
        needed.remove(f"systemctl {verb} {service}")
        _print([f"{verb}ed {service}"])
    if needed:
        _print(["now type:", *(f"  {each}" for each in needed)])
    return 0


def _systemctl(argv: Sequence[str], ask: Ask) -> None:
    answer = ask([find_program("systemctl"), *argv])
    if answer.returncode != 0:
        said = (answer.stderr or answer.stdout).decode(errors="replace").strip().splitlines() or ["it said nothing"]
        what = f"systemctl {' '.join(argv)} failed: {said[0]}"
        raise DynoError(what, next_step="the files are in place; look into the service, or roll back")


def _verified(found: Verified) -> list[str]:
    lines = [f"{each.state}: {each.setting}={each.value}: {each.detail}" for each in found.proofs]
    unasked = len(found.proofs) - found.proved - found.refuted
    total = [f"{found.proved} of {count(len(found.proofs), 'setting')} proved at work"]
    total += [f"{number} {words}" for number, words in ((found.refuted, "not at work"), (unasked, "cannot be asked")) if number]
    return [*lines, ", ".join(total)]


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(visible(line))
