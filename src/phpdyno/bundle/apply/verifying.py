"""Is what was applied still there, and at work? Looks and asks only."""

from collections.abc import Callable

from msgspec import Struct

from phpdyno.bundle.apply.edits import refuse_edits, refuse_other_bundle
from phpdyno.bundle.apply.proving import Live, SettingProof, mark_in, prove_all
from phpdyno.bundle.apply.record import read_record
from phpdyno.bundle.apply.tree import TargetTree
from phpdyno.bundle.reading import Bundle
from phpdyno.errors import DynoError

NOT_HERE = "no process runs in the tree of an image"


class Verified(Struct, frozen=True):
    """What came of each setting; the files are as the bundle left them."""

    proofs: tuple[SettingProof, ...]

    @property
    def refuted(self) -> int:
        """Settings that are not at work."""
        return sum(each.state == "not at work" for each in self.proofs)

    @property
    def proved(self) -> int:
        """Settings that were seen at work."""
        return sum(each.state == "at work" for each in self.proofs)


def verify(bundle: Bundle, tree: TargetTree, read: Callable[[str], Live]) -> Verified:
    """Check the placed files, then every setting on live workers; `read` asks them, given the
    bundle's mark.

    Raises DynoError where the bundle is not applied or only half, Edited where its files were
    edited since; what `read` raises.
    """
    record = read_record(tree)
    if record is None:
        raise DynoError("this bundle is not applied here", where=str(tree.root), next_step="apply it first: phpdyno bundle apply")
    if record.phase != "applied":
        raise DynoError("an apply or a rollback was ended half-way here", where=str(tree.root), next_step="apply or roll back again")
    refuse_other_bundle(bundle, tree, record)
    refuse_edits(bundle, tree, record)
    if not tree.is_host:
        return Verified(tuple(SettingProof(name, value, "cannot be asked", NOT_HERE) for name, value in bundle.manifest.settings.items()))
    return Verified(prove_all(bundle.manifest, read(mark_in(bundle.manifest, bundle.contents))))
