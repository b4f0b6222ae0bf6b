"""What was edited since: configuration that a bundle was proved on top of, and files that it
placed."""

from collections.abc import Collection

from phpdyno.bundle.apply.record import FileChange, Record, State, look, place_of, state_of
from phpdyno.bundle.apply.tree import TargetTree, digest, read_plain
from phpdyno.bundle.reading import Bundle, shown
from phpdyno.bundle.write.basis import difference, settings_of
from phpdyno.errors import DynoError

AS_SETTINGS = frozenset({"ini", "pool-first", "pool-last", "sysctl", "systemd"})
DISCARD = "keep a copy and put them back, or lose the edits: phpdyno bundle rollback --discard-edits"


class Edited(DynoError):  # noqa: N818 (it names what is the matter)
    """Files are not as they were; `difference` shows it, without secrets."""

    def __init__(self, what: str, differences: str, *, where: str, next_step: str) -> None:
        self.difference = differences
        super().__init__(what, where=where, next_step=next_step)


def refuse_other_bundle(bundle: Bundle, tree: TargetTree, record: Record) -> None:
    """Raises DynoError where what is applied is another bundle."""
    if record.bundle != bundle.sha256:
        what = f"the bundle of the run {record.run} is applied here, since {record.at}"
        raise DynoError(what, where=str(tree.root), next_step="roll that one back first: phpdyno bundle rollback")


def refuse_other_basis(bundle: Bundle, tree: TargetTree) -> None:
    """Raises Edited where the files that the control was read from say something else now."""
    found = []
    for each in bundle.manifest.based_on:
        try:
            now = settings_of(shown(_content(tree, each.target)))
        except OSError as error:
            now = f"(cannot be read: {error.strerror})\n"
        if changed := difference(shown(bundle.contents[each.path]), now, each.target):
            found.append(changed)
    if found:
        what = "the configuration that this bundle was proved on top of was edited since"
        next_step = "put it back, or tune again with --control live"
        raise Edited(what, "\n".join(found), where=str(bundle.directory), next_step=next_step)


def _content(tree: TargetTree, target: str) -> bytes:
    """The content of a file of the tree, through links that stay in it. Raises OSError where it
    cannot be read."""
    return read_plain(tree.end_of(target))


PLACED: tuple[State, ...] = ("after",)


def refuse_edits(bundle: Bundle | None, tree: TargetTree, record: Record, *, allowed: Collection[State] = PLACED) -> None:
    """Raises Edited where placed files are neither as the bundle left them nor in another state
    that is `allowed`.

    The difference is to what the record says that was placed; a record of the first version left
    that to the bundle.
    """
    changed = [_edit(bundle, tree, change) for change in record.changes if state_of(tree, change) not in allowed]
    if changed:
        what = "files that the bundle placed were edited since"
        raise Edited(what, "\n".join(changed), where=str(tree.root), next_step=DISCARD)


def _edit(bundle: Bundle | None, tree: TargetTree, change: FileChange) -> str:
    """How a placed file differs from the bundle's; where only comments do, in words."""
    kind, before = _placed(bundle, change)
    now, data = look(place_of(tree, change))
    if before is None:
        return f"{change.place} is {now.kind} now; what was placed is not known without the bundle"
    text = shown(data) if now.kind == "file" else "" if now.kind == "absent" else f"(a link to {now.link})\n"
    if kind in AS_SETTINGS:
        before, text = settings_of(before), settings_of(text) if now.kind == "file" else text
    if now.kind == "file" and digest(data) != change.sha256 and before == text:
        return f"{change.place}: comments or white space were edited"
    return difference(before, text, change.place) or f"{change.place} is {now.kind} now"


def _placed(bundle: Bundle | None, change: FileChange) -> tuple[str | None, str | None]:
    """Kind and text of what was placed, by the record or else by the bundle; None where neither
    knows."""
    if change.text is not None:
        return change.kind, change.text
    files = bundle.manifest.files if bundle is not None else ()
    shipped = next((each for each in files if each.sha256 == change.sha256), None)
    return (shipped.kind, shown(bundle.contents[shipped.path])) if bundle is not None and shipped is not None else (None, None)
