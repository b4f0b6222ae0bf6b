"""A rollback by the record in the tree alone: the bundle is gone, damaged, or not named."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from phpdyno.bundle import reading
from phpdyno.bundle.apply.record import RECORD, read_record
from phpdyno.bundle.apply.tree import TargetTree
from phpdyno.bundle.reading import Bundle
from phpdyno.cli.app import run
from phpdyno.commands.bundle import command
from phpdyno.errors import DynoError, UsageError
from tests.support.made_up.bundles import INI, FakeServers, bundle, image, photograph

Told = pytest.CaptureFixture[str]
AFTER = "now type:\n  systemctl daemon-reload\n  systemctl restart php8.2-fpm\n  systemctl reload nginx\n  sysctl vm.nr_hugepages=0\n"


@pytest.fixture
def made(tmp_path: Path) -> Bundle:
    return bundle(tmp_path / "2026-tune-shop")


@pytest.fixture
def tree(tmp_path: Path) -> TargetTree:
    return image(tmp_path / "root")


def applied(made: Bundle, tree: TargetTree, told: Told) -> None:
    """Applied, and nothing of what was printed left."""
    assert command.run_apply(made.directory, tree.root, ask=FakeServers()) == 0
    told.readouterr()


def make_old(tree: TargetTree) -> None:
    """The record as the first version wrote it."""
    path = tree.state / RECORD
    record = msgspec.json.decode(path.read_bytes())
    changes = [{key: value for key, value in each.items() if key not in {"kind", "text"}} for each in record["changes"]]
    kept = {key: value for key, value in record.items() if key not in {"directory", "follow"}}
    path.write_bytes(msgspec.json.encode({**kept, "schema": "phpdyno.applied/1", "changes": changes}))


def test_no_directory_is_needed(made: Bundle, tree: TargetTree, capsys: Told) -> None:
    before = photograph(tree.root)
    applied(made, tree, capsys)
    shutil.rmtree(made.directory)
    assert run(["bundle", "rollback", "--root", str(tree.root)]) == 0
    told = capsys.readouterr().out
    assert "rolled back by its record: the bundle of the run 2026-tune-shop, applied 20" in told
    assert f"restored {INI}\n" in told
    assert "the kernel keeps its present values" in told
    assert AFTER in told
    assert photograph(tree.root) == before
    assert run(["bundle", "rollback", "--root", str(tree.root)]) == 0
    assert capsys.readouterr().out == "nothing to roll back\n"


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_a_bundle_that_cannot_be_read_any_more_is_known_by_where_it_lay(made: Bundle, tree: TargetTree, capsys: Told, how: str) -> None:
    before = photograph(tree.root)
    applied(made, tree, capsys)
    if how == "gone":
        shutil.rmtree(made.directory.parent)
    else:
        (made.directory / "php/99-phpdyno.ini").write_text("x")
    assert command.run_rollback(made.directory, tree.root) == 0
    told = capsys.readouterr().out
    assert "this bundle cannot be read any more" in told
    assert AFTER in told
    assert photograph(tree.root) == before


def test_a_directory_that_is_not_the_record_s_is_a_mistake(made: Bundle, tree: TargetTree, tmp_path: Path, capsys: Told) -> None:
    applied(made, tree, capsys)
    before = photograph(tree.root)
    with pytest.raises(UsageError, match=r"this is no bundle: .*of the run 2026-tune-shop; without a directory.*phpdyno bundle rollback"):
        command.run_rollback(tmp_path / "mistyped" / "bundle", tree.root)
    assert photograph(tree.root) == before


def test_without_a_record_a_directory_has_to_be_a_bundle(tree: TargetTree, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is no bundle"):
        command.run_rollback(tmp_path / "none", tree.root)


def test_edits_are_shown_and_refused_without_the_bundle(made: Bundle, tree: TargetTree, capsys: Told) -> None:
    applied(made, tree, capsys)
    shutil.rmtree(made.directory)
    place = tree.inside(INI)
    place.write_text(place.read_text().replace("tracing", "function"))
    with pytest.raises(DynoError, match="edited since"):
        command.run_rollback(None, tree.root)
    told = capsys.readouterr().err
    assert "-opcache.jit = tracing" in told
    assert "+opcache.jit = function" in told
    assert command.run_rollback(None, tree.root, discard=True) == 0


def test_services_are_those_of_the_record(made: Bundle, tree: TargetTree, monkeypatch: pytest.MonkeyPatch, capsys: Told) -> None:
    applied(made, tree, capsys)
    shutil.rmtree(made.directory)
    monkeypatch.setattr(TargetTree, "is_host", property(lambda self: True))
    monkeypatch.setattr(command, "find_program", lambda name: f"/found/{name}")
    with pytest.raises(UsageError, match=r"does not concern that service.*php8.2-fpm, nginx"):
        command.run_rollback(None, tree.root, reload=("ssh",))
    servers = FakeServers()
    assert command.run_rollback(None, tree.root, reload=("php8.2-fpm",), ask=servers) == 0
    assert servers.asked == [["/found/systemctl", "daemon-reload"], ["/found/systemctl", "restart", "php8.2-fpm"]]


def test_a_record_of_the_first_version_is_read(made: Bundle, tree: TargetTree, capsys: Told) -> None:
    before = photograph(tree.root)
    applied(made, tree, capsys)
    make_old(tree)
    assert command.run_rollback(made.directory, tree.root) == 0
    assert AFTER in capsys.readouterr().out
    assert photograph(tree.root) == before


def test_a_record_of_the_first_version_does_without_its_bundle(made: Bundle, tree: TargetTree, capsys: Told) -> None:
    before = photograph(tree.root)
    applied(made, tree, capsys)
    make_old(tree)
    shutil.rmtree(made.directory)
    tree.inside(INI).write_text("mine")
    with pytest.raises(DynoError, match="edited since"):
        command.run_rollback(made.directory, tree.root)
    assert "not known without the bundle" in capsys.readouterr().err
    assert command.run_rollback(made.directory, tree.root, discard=True) == 0
    assert "does not say what reads these files" in capsys.readouterr().out
    assert photograph(tree.root) == before


def test_the_record_holds_what_was_placed_and_where_the_bundle_lay(made: Bundle, tree: TargetTree, capsys: Told) -> None:
    applied(made, tree, capsys)
    record = read_record(tree)
    assert record is not None
    assert (record.schema, record.directory) == ("phpdyno.applied/2", reading.shown(os.fsencode(made.directory.resolve())))
    texts = {each.text for each in record.changes}
    assert texts == {made.contents[each.path].decode() for each in made.manifest.files}
