"""Killed before each change that apply and rollback make: the next one puts everything right."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from phpdyno.bundle.apply.applying import apply, rollback
from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.tree import Disk, TargetTree
from phpdyno.bundle.reading import Bundle
from phpdyno.errors import DynoError
from tests.support.made_up.bundles import FakeDisk, FakeServers, Killed, bundle, image, photograph

STATE = "var/lib/phpdyno"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls a plug here."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def do_apply(made: Bundle, tree: TargetTree, disk: Disk, servers: FakeServers | None = None) -> bool:
    return apply(made, tree, Checker(made, tree, ask=servers or FakeServers()), disk).healed


def do_rollback(made: Bundle, tree: TargetTree, disk: Disk) -> bool:
    return rollback(made, tree, disk).healed


def steps_of(act: Callable[[Disk], object]) -> int:
    disk = FakeDisk()
    act(disk)
    return disk.made


@pytest.fixture
def made(tmp_path: Path) -> Bundle:
    return bundle(tmp_path / "made")


def test_apply_killed_at_each_step(made: Bundle, tmp_path: Path) -> None:
    clean = image(tmp_path / "clean")
    before = photograph(clean.root)
    steps = steps_of(lambda disk: do_apply(made, clean, disk))
    after = photograph(clean.root, without=STATE)
    assert steps > 2 * len(made.manifest.files)
    for step in range(steps):
        tree = image(tmp_path / f"rollback-{step}")
        with pytest.raises(Killed):
            do_apply(made, tree, FakeDisk(step))
        do_rollback(made, tree, Disk())
        assert photograph(tree.root) == before, step
        tree = image(tmp_path / f"apply-{step}")
        with pytest.raises(Killed):
            do_apply(made, tree, FakeDisk(step))
        do_apply(made, tree, Disk())
        assert photograph(tree.root, without=STATE) == after, step
        do_rollback(made, tree, Disk())
        assert photograph(tree.root) == before, step


def test_rollback_killed_at_each_step(made: Bundle, tmp_path: Path) -> None:
    clean = image(tmp_path / "clean")
    before = photograph(clean.root)
    do_apply(made, clean, Disk())
    after = photograph(clean.root, without=STATE)
    for step in range(steps_of(lambda disk: do_rollback(made, clean, disk))):
        tree = image(tmp_path / f"{step}")
        do_apply(made, tree, Disk())
        with pytest.raises(Killed):
            do_rollback(made, tree, FakeDisk(step))
        do_rollback(made, tree, Disk())
        assert photograph(tree.root) == before, step
        do_apply(made, tree, Disk())
        assert photograph(tree.root, without=STATE) == after, step


def test_the_undoing_of_a_refused_apply_killed_at_each_step(made: Bundle, tmp_path: Path) -> None:
    clean = image(tmp_path / "clean")
    before = photograph(clean.root)
    steps = steps_of(lambda disk: refused(made, clean, disk))
    for step in range(steps):
        tree = image(tmp_path / f"{step}")
        with pytest.raises(Killed):
            refused(made, tree, FakeDisk(step))
        do_rollback(made, tree, Disk())
        assert photograph(tree.root) == before, step


def refused(made: Bundle, tree: TargetTree, disk: Disk) -> None:
    """An apply that php-fpm refuses."""
    servers = FakeServers(refuses=tree.inside("/etc/php/8.2/fpm/pool.d/zz-phpdyno.conf"))
    with contextlib.suppress(DynoError):
        do_apply(made, tree, disk, servers)


def test_killed_again_while_healing(made: Bundle, tmp_path: Path) -> None:
    clean = image(tmp_path / "clean")
    before = photograph(clean.root)
    steps = steps_of(lambda disk: do_apply(made, clean, disk))
    for again in range(0, steps, 3):
        tree = image(tmp_path / f"{again}")
        with pytest.raises(Killed):
            do_apply(made, tree, FakeDisk(steps - 2))
        with pytest.raises(Killed):
            do_apply(made, tree, FakeDisk(again))
        do_rollback(made, tree, Disk())
        assert photograph(tree.root) == before, again


def test_healing_is_said(made: Bundle, tmp_path: Path) -> None:
    tree = image(tmp_path / "root")
    with pytest.raises(Killed):
        do_apply(made, tree, FakeDisk(steps_of(lambda disk: do_apply(made, image(tmp_path / "clean"), disk)) - 1))
    assert do_apply(made, tree, Disk())
    assert not do_rollback(made, tree, Disk())


def test_an_interrupt_while_the_servers_are_asked_changes_nothing(made: Bundle, tmp_path: Path) -> None:
    tree = image(tmp_path / "root")
    before = photograph(tree.root)

    class FakeInterrupted(FakeServers):
        def __call__(self, argv: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
            if len(self.asked) == 3:
                raise KeyboardInterrupt
            return super().__call__(argv)

    with pytest.raises(KeyboardInterrupt):
        do_apply(made, tree, Disk(), FakeInterrupted())
    assert photograph(tree.root) == before
