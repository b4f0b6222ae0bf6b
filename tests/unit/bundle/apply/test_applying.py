"""Apply and rollback on a tree: what is placed, what is refused, what comes back."""

import os
from functools import partial
from pathlib import Path

import pytest

from phpdyno.bundle.apply import checking
from phpdyno.bundle.apply.applying import Outcome, apply, rollback
from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.edits import Edited
from phpdyno.bundle.apply.record import RECORD, read_record
from phpdyno.bundle.apply.tree import Disk, TargetTree
from phpdyno.bundle.reading import Bundle
from phpdyno.errors import DynoError, UsageError
from tests.support.made_up.bundles import INI, OLD_INI, POOL, POOL_FILE, FakeFullDisk, FakeServers, bundle, image, photograph, put

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other accounts")


@pytest.fixture
def made(tmp_path: Path) -> Bundle:
    return bundle(tmp_path / "made")


@pytest.fixture
def tree(tmp_path: Path) -> TargetTree:
    return image(tmp_path / "root")


def applied(made: Bundle, tree: TargetTree, servers: FakeServers | None = None, disk: Disk | None = None) -> Outcome:
    return apply(made, tree, Checker(made, tree, ask=servers or FakeServers()), disk or Disk())


def test_files_are_placed_and_what_was_there_is_kept(made: Bundle, tree: TargetTree) -> None:
    outcome = applied(made, tree)
    assert set(outcome.placed) == {each.target for each in made.manifest.files}
    assert outcome.replaced == (INI,)
    for each in made.manifest.files:
        place = tree.inside(each.target)
        assert place.read_bytes() == made.contents[each.path]
        assert place.stat().st_mode & 0o7777 == 0o644
    record = read_record(tree)
    assert record is not None
    assert (record.phase, record.bundle) == ("applied", made.sha256)
    assert tree.state.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in tree.state.rglob("*"))
    assert "phpdyno-new" not in str(list(tree.root.rglob("*")))


def test_a_rollback_restores_byte_for_byte_and_twice_is_fine(made: Bundle, tree: TargetTree) -> None:
    before = photograph(tree.root)
    applied(made, tree)
    outcome = rollback(made, tree, Disk())
    assert not outcome.already
    assert len(outcome.restored) == len(made.manifest.files)
    assert photograph(tree.root) == before
    assert rollback(made, tree, Disk()).already
    assert photograph(tree.root) == before


@as_root
def test_owner_and_mode_come_back(made: Bundle, tree: TargetTree) -> None:
    place = tree.inside(INI)
    os.chown(place, 12345, 23456)
    place.chmod(0o604)
    before = photograph(tree.root)
    applied(made, tree)
    assert (place.stat().st_uid, place.stat().st_gid) == (os.geteuid(), os.getegid())
    rollback(made, tree, Disk())
    assert photograph(tree.root) == before


def test_a_link_is_replaced_and_comes_back(made: Bundle, tree: TargetTree) -> None:
    place = tree.inside(INI)
    place.unlink()
    put(tree.root, "/etc/mine.ini", OLD_INI)
    place.symlink_to("../../../../mine.ini")
    before = photograph(tree.root)
    applied(made, tree)
    assert not place.is_symlink()
    assert (tree.root / "etc/mine.ini").read_text() == OLD_INI
    rollback(made, tree, Disk())
    assert photograph(tree.root) == before


def test_nothing_is_written_through_a_link_that_leads_outside(made: Bundle, tree: TargetTree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tree.root / "etc/nginx/conf.d"
    place.rmdir()
    place.symlink_to(outside)
    before = photograph(tree.root)
    applied(made, tree)
    assert list(outside.iterdir()) == []
    assert (tree.root / str(outside).lstrip("/") / "phpdyno.conf").is_file()
    rollback(made, tree, Disk())
    assert photograph(tree.root) == before


def test_applied_already(made: Bundle, tree: TargetTree) -> None:
    applied(made, tree)
    before = photograph(tree.root)
    assert applied(made, tree).already
    assert photograph(tree.root) == before


def test_a_tree_whose_files_were_edited_since_is_refused_with_the_difference(made: Bundle, tree: TargetTree) -> None:
    applied(made, tree)
    place = tree.inside(INI)
    place.write_text(place.read_text().replace("tracing", "function"))
    before = photograph(tree.root)
    for act in (partial(applied, made, tree), partial(rollback, made, tree, Disk())):
        with pytest.raises(Edited, match="edited since") as caught:
            act()
        assert "-opcache.jit = tracing" in caught.value.difference
        assert "+opcache.jit = function" in caught.value.difference
        assert photograph(tree.root) == before
    rollback(made, tree, Disk(), discard=True)
    assert place.read_text() == OLD_INI


def test_a_placed_file_that_is_gone_counts_as_edited(made: Bundle, tree: TargetTree) -> None:
    applied(made, tree)
    tree.inside(INI).unlink()
    with pytest.raises(Edited) as caught:
        rollback(made, tree, Disk())
    assert "-opcache.jit = tracing" in caught.value.difference
    rollback(made, tree, Disk(), discard=True)
    assert tree.inside(INI).read_text() == OLD_INI


def test_comments_count_as_well(made: Bundle, tree: TargetTree) -> None:
    applied(made, tree)
    with tree.inside(INI).open("a") as stream:
        stream.write("; mine\n")
    with pytest.raises(Edited) as caught:
        applied(made, tree)
    assert caught.value.difference == f"{INI}: comments or white space were edited"


def test_configuration_that_was_edited_since_it_was_measured(tree: TargetTree, tmp_path: Path) -> None:
    made = bundle(tmp_path / "made", based_on={POOL_FILE: POOL + "env[KEY] = hunter2\n"})
    put(tree.root, POOL_FILE, POOL.replace("max_children = 5", "max_children = 50") + "env[KEY] = hunter3\n; new\n")
    before = photograph(tree.root)
    with pytest.raises(Edited, match="proved on top of") as caught:
        applied(made, tree)
    assert "-pm.max_children = 5" in caught.value.difference
    assert "+pm.max_children = 50" in caught.value.difference
    assert "hunter" not in caught.value.difference
    assert photograph(tree.root) == before
    put(tree.root, POOL_FILE, POOL + "env[KEY] = hunter3\n; new\n")
    assert applied(made, tree).placed


def test_configuration_that_is_gone(tree: TargetTree, tmp_path: Path) -> None:
    made = bundle(tmp_path / "made", based_on={"/etc/php/8.2/fpm/pool.d/other.conf": POOL})
    with pytest.raises(Edited) as caught:
        applied(made, tree)
    assert "cannot be read" in caught.value.difference


def test_where_php_fpm_refuses_nothing_is_changed(made: Bundle, tree: TargetTree) -> None:
    before = photograph(tree.root)
    servers = FakeServers(refuses=tree.inside("/etc/php/8.2/fpm/pool.d/zz-phpdyno.conf"))
    with pytest.raises(
        DynoError, match=r"php-fpm -t refuses the bundle: ERROR: .pool www. pm.max_children must be .*; nothing was changed"
    ):
        applied(made, tree, servers)
    assert photograph(tree.root) == before


def test_a_new_warning_counts_as_a_refusal(made: Bundle, tree: TargetTree) -> None:
    before = photograph(tree.root)
    warns = "ERROR: ld.so: object '/x.so' from LD_PRELOAD cannot be preloaded: ignored."
    with pytest.raises(DynoError, match="cannot be preloaded"):
        applied(made, tree, FakeServers(refuses=tree.inside("/etc/nginx/conf.d/phpdyno.conf"), warns=warns))
    assert photograph(tree.root) == before


def test_where_php_fpm_refuses_without_the_bundle_already(made: Bundle, tree: TargetTree) -> None:
    before = photograph(tree.root)
    with pytest.raises(DynoError, match=r"refuses the configuration that is there already.*mend that first"):
        applied(made, tree, FakeServers(broken=True))
    assert photograph(tree.root) == before


def test_a_bundle_from_another_php_is_refused(made: Bundle, tree: TargetTree) -> None:
    before = photograph(tree.root)
    with pytest.raises(UsageError, match=r"proved on PHP 8\.2\.29, and this is PHP 8\.3\.1"):
        applied(made, tree, FakeServers("8.3.1"))
    assert photograph(tree.root) == before
    assert applied(made, tree, FakeServers("8.2.99")).placed


def test_an_image_without_php_is_tested_only_where_nobody_insists(made: Bundle, tree: TargetTree) -> None:
    servers = FakeServers("?")
    with pytest.raises(DynoError, match="--unchecked"):
        applied(made, tree, servers)
    asked = len(servers.asked)
    assert apply(made, tree, Checker(made, tree, unchecked=True, ask=servers), Disk()).placed
    assert len(servers.asked) == asked


def test_huge_pages_of_others_are_not_taken(made: Bundle, tree: TargetTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TargetTree, "is_host", property(lambda self: True))
    monkeypatch.setattr(Checker, "refuse_other_php", lambda self: None)
    monkeypatch.setattr(checking, "reserved_here", lambda: 500)
    before = photograph(tree.root)
    with pytest.raises(UsageError, match="this one reserves 500"):
        applied(made, tree)
    assert photograph(tree.root) == before


def test_a_disk_that_is_full_changes_nothing(made: Bundle, tree: TargetTree) -> None:
    tree.inside(INI).unlink()
    before = photograph(tree.root)
    written_twice = 2  # the record
    for room in range(len(made.manifest.files) + written_twice):
        with pytest.raises(OSError, match="No space left"):
            applied(made, tree, disk=FakeFullDisk(room))
        assert photograph(tree.root) == before, room


def test_what_a_full_disk_keeps_from_being_restored_is_said(made: Bundle, tree: TargetTree) -> None:
    before = photograph(tree.root)
    backup_and_record = 2
    with pytest.raises(DynoError, match=r"cannot be undone now: No space left on device; .*phpdyno bundle rollback"):
        applied(made, tree, disk=FakeFullDisk(backup_and_record + len(made.manifest.files)))
    assert {each.target for each in made.manifest.files if os.path.lexists(tree.inside(each.target))} == {INI}
    assert rollback(made, tree, Disk()).healed
    assert photograph(tree.root) == before


def test_another_bundle_is_not_laid_over_the_first(made: Bundle, tree: TargetTree, tmp_path: Path) -> None:
    other = bundle(tmp_path / "other", settings={"ini.opcache.jit": "off"}, run="another")
    applied(made, tree)
    before = photograph(tree.root)
    for act in (partial(applied, other, tree), partial(rollback, other, tree, Disk())):
        with pytest.raises(DynoError, match=r"the bundle of the run 2026-tune-shop is applied here.*roll that one back first"):
            act()
    assert photograph(tree.root) == before


def test_a_bundle_without_files(tree: TargetTree, tmp_path: Path) -> None:
    before = photograph(tree.root)
    with pytest.raises(DynoError, match="holds no file"):
        applied(bundle(tmp_path / "made", settings={"web.workers": "2"}), tree)
    assert photograph(tree.root) == before


def test_a_directory_in_the_place_of_a_file(made: Bundle, tree: TargetTree) -> None:
    tree.inside("/etc/sysctl.d/99-phpdyno.conf").mkdir()
    before = photograph(tree.root)
    with pytest.raises(DynoError, match="no plain file"):
        applied(made, tree)
    assert photograph(tree.root) == before


@pytest.mark.parametrize(("old", "new"), [(b'"schema"', b'"scheme"'), (b"tune-shop", b"tune-\xff")])
def test_a_record_that_is_not_understood(made: Bundle, tree: TargetTree, old: bytes, new: bytes) -> None:
    applied(made, tree)
    record = tree.state / RECORD
    record.write_bytes(record.read_bytes().replace(old, new))
    for act in (partial(applied, made, tree), partial(rollback, made, tree, Disk())):
        with pytest.raises(DynoError, match="not understood"):
            act()


def test_a_backup_that_was_damaged_is_not_restored(made: Bundle, tree: TargetTree) -> None:
    applied(made, tree)
    (backup,) = (tree.state / "backup").iterdir()
    backup.write_text("something else")
    with pytest.raises(DynoError, match="not what was saved"):
        rollback(made, tree, Disk())
    assert tree.inside(INI).read_bytes() == made.contents["php/99-phpdyno.ini"]


@as_root
def test_a_tree_that_others_can_change_is_refused(made: Bundle, tree: TargetTree) -> None:
    os.chown(tree.root / "etc/php", 12345, 12345)
    before = photograph(tree.root)
    with pytest.raises(UsageError, match="others can change"):
        applied(made, tree)
    assert photograph(tree.root) == before
