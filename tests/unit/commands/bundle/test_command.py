"""`phpdyno bundle`: what is printed, and what is never done unless it is named."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from phpdyno.bundle.apply.commands import commands_after, follow_of, services
from phpdyno.cli.app import run
from phpdyno.commands.bundle import command
from phpdyno.errors import DynoError, UsageError
from tests.support.made_up.bundles import INI, FakeServers, bundle, image


def test_apply_verify_and_rollback_of_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, tree = bundle(tmp_path / "made"), image(tmp_path / "root")
    assert command.run_apply(made.directory, tree.root, ask=FakeServers()) == 0
    told = capsys.readouterr().out
    assert f"replaced {INI}\n" in told
    assert "placed /etc/sysctl.d/99-phpdyno.conf\n" in told
    assert "tested: the servers accept the configuration\n" in told
    assert "−6.8 % (95 % CI −7.7 to −5.8, 21 blocks)" in told
    assert "now type:\n  sysctl -p /etc/sysctl.d/99-phpdyno.conf\n  systemctl daemon-reload\n  systemctl restart php8.2-fpm\n" in told
    assert "left to you: web.workers" in told
    assert command.run_verify(made.directory, tree.root) == 1
    assert "0 of 9 settings proved at work, 9 cannot be asked" in capsys.readouterr().out
    assert command.run_rollback(made.directory, tree.root) == 0
    told = capsys.readouterr().out
    assert f"restored {INI}\n" in told
    assert "sysctl -p" not in told
    assert command.run_rollback(made.directory, tree.root) == 0
    assert capsys.readouterr().out == "nothing to roll back\n"


def test_the_difference_is_shown_before_the_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, tree = bundle(tmp_path / "made"), image(tmp_path / "root")
    command.run_apply(made.directory, tree.root, ask=FakeServers())
    tree.inside(INI).write_text("opcache.jit = off\x1b[31m\n")
    with pytest.raises(DynoError, match="edited since"):
        command.run_apply(made.directory, tree.root, ask=FakeServers())
    told = capsys.readouterr().err
    assert "+opcache.jit = off" in told
    assert "\x1b" not in told


def test_services_are_touched_only_where_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "find_program", lambda name: f"/found/{name}")
    follow = follow_of(bundle(tmp_path / "made").manifest)
    servers = FakeServers()
    command._bring_into_effect(follow, commands_after(follow), {}, servers)
    assert servers.asked == []
    command._bring_into_effect(follow, commands_after(follow), {"php8.2-fpm": "restart"}, servers)
    assert servers.asked == [["/found/systemctl", "daemon-reload"], ["/found/systemctl", "restart", "php8.2-fpm"]]
    told = capsys.readouterr().out
    assert "restarted php8.2-fpm\nnow type:\n  sysctl -p /etc/sysctl.d/99-phpdyno.conf\n  systemctl reload nginx\n" in told


def test_a_service_that_does_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_program", lambda name: f"/found/{name}")

    def fake_ask(argv: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.CompletedProcess(list(argv), 1, b"", b"Job failed.\n")

    follow = follow_of(bundle(tmp_path / "made").manifest)
    with pytest.raises(DynoError, match=r"systemctl daemon-reload failed: Job failed.*roll back"):
        command._bring_into_effect(follow, commands_after(follow), {"php8.2-fpm": "restart"}, fake_ask)


def test_services_that_cannot_be_meant(tmp_path: Path) -> None:
    made, tree = bundle(tmp_path / "made"), image(tmp_path / "root")
    with pytest.raises(UsageError, match="no service runs in the tree of an image"):
        command.run_apply(made.directory, tree.root, reload=("php8.2-fpm",), ask=FakeServers())
    with pytest.raises(UsageError, match=r"does not concern that service.*php8.2-fpm, nginx"):
        command.run_rollback(made.directory, Path("/"), reload=("ssh",))
    with pytest.raises(UsageError, match=r"settings of the kernel.*type what apply prints"):
        command.run_apply(made.directory, Path("/"), reload=("php8.2-fpm",), ask=FakeServers())
    with pytest.raises(UsageError, match="always tested"):
        command.run_apply(made.directory, Path("/"), unchecked=True)


def test_a_reload_does_where_every_knob_says_so(tmp_path: Path) -> None:
    some = bundle(tmp_path / "some", settings={"pool.pm.max_children": "8", "ini.memory_limit": "1G"}).manifest
    assert services(some) == {"php8.2-fpm": "reload"}
    assert commands_after(follow_of(some)) == ("systemctl reload php8.2-fpm",)
    assert services(bundle(tmp_path / "web", settings={"web.access_log": "off"}).manifest) == {"nginx": "reload"}


def test_the_command_line(tmp_path: Path) -> None:
    made, tree = bundle(tmp_path / "made"), image(tmp_path / "root")
    assert run(["bundle", "apply", str(made.directory), "--root", str(tree.root), "--unchecked"]) == 0
    assert run(["bundle", "verify", str(made.directory), "--root", str(tree.root)]) == 1
    assert run(["bundle", "rollback", str(made.directory), "--root", str(tree.root)]) == 0
    with pytest.raises(UsageError):
        run(["bundle", "apply"])
