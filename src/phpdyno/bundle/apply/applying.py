"""Apply and rollback. The record is on disk before the first change, so whatever ends us, the next
apply or rollback puts things right."""

import os
from datetime import UTC, datetime

from msgspec import Struct, structs

from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.commands import follow_of
from phpdyno.bundle.apply.edits import refuse_edits, refuse_other_basis, refuse_other_bundle
from phpdyno.bundle.apply.record import RECORD, Before, FileChange, Record, State, look, place_of, private, read_record, write_record
from phpdyno.bundle.apply.tree import Disk, TargetTree, digest, fresh_name, locked, read_plain
from phpdyno.bundle.places import mode_bits
from phpdyno.bundle.reading import Bundle, refuse_empty, shown
from phpdyno.errors import DynoError

BACKUPS = "backup"
HALF_WAY: tuple[State, ...] = ("before", "after")
"""States of places after an apply or a rollback that was ended."""


class Outcome(Struct, frozen=True):
    """What an apply or a rollback did; places as paths of the tree.

    `healed`: an earlier one had been ended half-way. `already`: there was nothing to do.
    """

    placed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    healed: bool = False
    already: bool = False


def apply(bundle: Bundle, tree: TargetTree, checker: Checker, disk: Disk) -> Outcome:
    """Place the bundle's files: all of them, validated, or none.

    Raises Edited (files were edited since), DynoError (validation failed: nothing is changed;
    another bundle is applied), UsageError.
    """
    refuse_empty(bundle)
    _make_state(tree, disk)
    with locked(tree):
        record = read_record(tree)
        healed = record is not None and record.phase != "applied"
        if record is not None and healed:
            refuse_edits(bundle, tree, record, allowed=HALF_WAY)
            _undo(tree, disk, record)
        elif record is not None:
            refuse_other_bundle(bundle, tree, record)
            refuse_edits(bundle, tree, record)
            return Outcome(tuple(change.place for change in record.changes), already=True)
        prepared = _switch(bundle, tree, checker, disk)
    replaced = tuple(change.place for change in prepared.changes if change.before.kind != "absent")
    return Outcome(tuple(change.place for change in prepared.changes), replaced, healed=healed)


def rollback(bundle: Bundle | None, tree: TargetTree, disk: Disk, *, discard: bool = False) -> Outcome:
    """Put everything back as it was before the apply: content, owner, mode, absence. Twice is fine.

    The record says what that is; the bundle, where one is given, only that it is the one which is
    meant. Raises Edited where placed files were edited since, unless `discard`; DynoError where
    another bundle is applied.
    """
    if not os.path.lexists(tree.state):
        if tree.state.parent.is_dir():
            disk.remove_dir(tree.state.parent)
        return Outcome(already=True)
    with locked(tree):
        record = read_record(tree)
        if record is None:
            _clear(tree, disk)
            return Outcome(already=True)
        healed = record.phase != "applied"
        if not healed and bundle is not None:
            refuse_other_bundle(bundle, tree, record)
        if not discard:
            refuse_edits(bundle, tree, record, allowed=HALF_WAY if healed else ("after",))
        _undo(tree, disk, record)
        _clear(tree, disk)
    return Outcome(restored=tuple(change.place for change in record.changes), healed=healed)


def _switch(bundle: Bundle, tree: TargetTree, checker: Checker, disk: Disk) -> Record:
    """Everything from looking at the tree to the last file in its place; what fails leaves the tree
    as it was."""
    try:
        checker.refuse_other_places()
        refuse_other_basis(bundle, tree)
        checker.refuse_other_php()
        checker.refuse_other_reserve()
        told = checker.refuse_broken()
        _prepare(bundle, tree, disk)
        record = read_record(tree)
        if record is None:
            raise DynoError("the record of this apply is gone again", where=str(tree.state))
        _place(bundle, tree, disk, record)
        checker.refuse_new_faults(told)
        write_record(tree, disk, structs.replace(record, phase="applied"))
    except (Exception, KeyboardInterrupt):
        written = read_record(tree)
        try:
            if written is not None:
                _undo(tree, disk, written)
        except OSError as error:
            what = f"this apply failed half-way and cannot be undone now: {error.strerror}"
            place = str(error.filename or tree.root)
            raise DynoError(what, where=place, next_step="mend that, then: phpdyno bundle rollback") from error
        _clear(tree, disk)
        raise
    return record


def _make_state(tree: TargetTree, disk: Disk) -> None:
    state = tree.state
    for place in tree.missing_dirs(state):
        disk.make_dir(place)
    if not state.is_dir():
        disk.make_dir(state, 0o700)


def _prepare(bundle: Bundle, tree: TargetTree, disk: Disk) -> None:
    """Back up what will be replaced, then write the record: from here on there is something to roll
    back."""
    backups = tree.state / BACKUPS
    if not backups.is_dir():
        disk.make_dir(backups, 0o700)
    changes: list[FileChange] = []
    dirs: dict[str, None] = {}
    for number, each in enumerate(bundle.manifest.files):
        place = tree.inside(each.target)
        before, data = look(place)
        if before.owner is not None and os.geteuid() not in {0, before.owner.uid}:
            raise DynoError("this file belongs to another account", where=str(place), next_step="run phpdyno as root")
        if before.kind == "file":
            before = structs.replace(before, backup=str(number))
            disk.put(backups / before.backup, data, private())
        dirs |= dict.fromkeys(tree.name(missing) for missing in tree.missing_dirs(place))
        changes.append(FileChange(tree.name(place), before, each.sha256, each.kind, shown(bundle.contents[each.path])))
    at = datetime.now(UTC).astimezone().isoformat(timespec="seconds")
    record = Record(
        schema="phpdyno.applied/2",
        phase="applying",
        bundle=bundle.sha256,
        run=bundle.manifest.run,
        at=at,
        dirs=tuple(dirs),
        changes=tuple(changes),
        directory=shown(os.fsencode(bundle.directory.resolve())),
        follow=follow_of(bundle.manifest),
    )
    write_record(tree, disk, record)


def _place(bundle: Bundle, tree: TargetTree, disk: Disk, record: Record) -> None:
    for name in record.dirs:
        disk.make_dir(tree.inside(name))
    for each, change in zip(bundle.manifest.files, record.changes, strict=True):
        owner = structs.replace(private(), mode=mode_bits(each.mode) or 0o644)
        disk.put(place_of(tree, change), bundle.contents[each.path], owner)


def _undo(tree: TargetTree, disk: Disk, record: Record) -> None:
    """Every place as it was, then the record away: until then it is begun again after whatever ends
    us.

    The disk may be full, so a record that says already that something is under way is not written
    anew.
    """
    if record.phase == "applied":
        write_record(tree, disk, structs.replace(record, phase="rolling back"))
    for change in reversed(record.changes):
        _restore(tree, disk, change)
    for name in reversed(record.dirs):
        disk.remove_dir(tree.inside(name))
    disk.remove(tree.state / RECORD)
    _clear_backups(tree, disk)


def _restore(tree: TargetTree, disk: Disk, change: FileChange) -> None:
    """One place as it was. What is so already is left alone, but for a half-written file beside
    it."""
    place, before = place_of(tree, change), change.before
    if _same(look(place)[0], before):
        if os.path.lexists(fresh_name(place)):
            disk.remove(fresh_name(place))
    elif before.kind == "absent" or before.owner is None:
        disk.remove(place)
    elif before.kind == "link":
        disk.put_link(place, before.link, before.owner)
    else:
        backup = tree.state / BACKUPS / before.backup
        data = read_plain(backup)
        if digest(data) != before.sha256:
            raise DynoError("this backup is not what was saved", where=str(backup))
        disk.put(place, data, before.owner)


def _same(now: Before, before: Before) -> bool:
    return now == structs.replace(before, backup="")


def _clear_backups(tree: TargetTree, disk: Disk) -> None:
    backups = tree.state / BACKUPS
    for each in sorted(backups.iterdir()) if backups.is_dir() else []:
        disk.remove(each)


def _clear(tree: TargetTree, disk: Disk) -> None:
    """Nothing of ours left but a record: it says what there is to roll back, and needs its
    backups."""
    if os.path.lexists(tree.state / RECORD) or not tree.state.is_dir():
        return
    _clear_backups(tree, disk)
    disk.remove(tree.state / RECORD)  # one that was half-written
    for place in (tree.state / BACKUPS, tree.state, tree.state.parent):
        if place.is_dir():
            disk.remove_dir(place)
