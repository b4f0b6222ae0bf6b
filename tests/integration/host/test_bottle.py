"""The bottle: what runs as the servers' account sees nothing of the host but the system, and ends
with whatever started it."""

import os
import shutil
import socket
import time
from pathlib import Path

import pytest

from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.errors import UsageError
from phpdyno.host.sockets.network import outside
from phpdyno.paths import service_user
from phpdyno.servers.supervision.supervisor import Supervisor

pytestmark = pytest.mark.integration

SOMAXCONN = Path("/proc/sys/net/core/somaxconn")


def said(supervisor: Supervisor, script: str) -> str:
    """What a shell in the bottle prints."""
    child = supervisor.run("asked", ["sh", "-c", script])
    assert child.status == 0, child.said()
    return child.said()


def test_it_has_a_network_of_its_own_which_we_speak_in(supervisor: Supervisor) -> None:
    outside = Path("/proc/1/net/dev") if os.geteuid() == 0 else None
    names = [line.split(":")[0].strip() for line in said(supervisor, "cat /proc/net/dev").splitlines() if ":" in line]
    assert names == ["lo"]
    if outside is not None:
        assert outside.read_text() != Path("/proc/net/dev").read_text()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        child = supervisor.spawn("client", ["php", "-n", "-r", f"stream_socket_client('tcp://127.0.0.1:{port}') or exit(7);"])
        listening.settimeout(10)
        listening.accept()[0].close()
        assert child.wait(10)
        assert child.status == 0


def test_our_own_network_is_the_host_s_again_afterwards(tmp_path: Path) -> None:
    before = Path("/proc/thread-self/ns/net").readlink()
    with Supervisor(tmp_path / "logs") as supervisor:
        if not supervisor.no_bottle:
            assert Path("/proc/thread-self/ns/net").readlink() != before
    assert Path("/proc/thread-self/ns/net").readlink() == before


def test_the_system_is_read_only_and_the_rest_is_not_there(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    account = service_user()
    told = said(
        supervisor,
        f"touch /usr/x /etc/x 2>/dev/null; ls -A /home /srv /var/tmp /dev/shm; ls {tmp_path} 2>&1; ls -A /tmp; id -u; echo x > /tmp/kept",
    )
    assert not Path("/usr/x").exists()
    assert not Path("/tmp/kept").exists()
    assert "secret" not in told
    assert f"cannot access '{tmp_path}'" in told
    assert told.splitlines()[-1] == str(account.uid)


def test_what_runs_there_has_no_privileges_and_gets_none(supervisor: Supervisor) -> None:
    told = dict(line.split(":\t", 1) for line in said(supervisor, "cat /proc/self/status").splitlines() if ":\t" in line)
    assert told["NoNewPrivs"] == "1"
    assert {told[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}


def test_what_a_process_leaves_behind_ends_with_it(supervisor: Supervisor) -> None:
    said(supervisor, "(setsid sleep 1234.5 >/dev/null 2>&1 &) ; sleep 0.1")
    assert not running("1234.5")


def test_no_process_of_the_host_is_seen(supervisor: Supervisor) -> None:
    seen = [int(name) for name in said(supervisor, "ls /proc").split() if name.isdigit()]
    assert max(seen) < 10


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write it")
def test_the_length_of_listen_queues_is_the_host_s_and_stays_it(supervisor: Supervisor) -> None:
    held = outside(SOMAXCONN.read_text)
    assert said(supervisor, f"cat {SOMAXCONN}") == held
    assert supervisor.set_host(str(SOMAXCONN), "77") == "77"
    assert said(supervisor, f"cat {SOMAXCONN}").splitlines()[-1] == "77"
    assert outside(SOMAXCONN.read_text) == held
    assert supervisor.set_host(str(SOMAXCONN), None) == held.strip()


def running(marker: str) -> bool:
    """Whether a process with this word in its command line is there, a moment later too."""
    for _ in range(3):
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if marker.encode() in process.read_bytes().split(b"\0"):
                    return True
            except OSError:
                continue
        time.sleep(0.02)
    return False


def test_files_of_the_host_are_shown_by_name_and_places_can_be_private(supervisor: Supervisor, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "seen").write_text("seen")
    (tmp_path / "link").symlink_to("tree")
    supervisor.show(tmp_path / "link")
    supervisor.make_private(tmp_path / "cache")
    script = f"cat {tmp_path}/link/seen; touch {tmp_path}/link/x 2>/dev/null; echo 1 > {tmp_path}/cache/x; ls {tmp_path}"
    assert said(supervisor, script) == "seencache\nlink\ntree\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "logs", "tree"]
    assert [path.name for path in tree.iterdir()] == ["seen"]


def test_a_tree_is_seen_at_another_path_by_one_process_alone(supervisor: Supervisor, tmp_path: Path) -> None:
    copy = supervisor.directory("copy")
    (copy / "file").write_text("copied")
    (copy / "file").chmod(0o666)
    (tmp_path / "app").mkdir()
    (tmp_path / "app/file").write_text("original")
    real = supervisor.make_place(tmp_path / "app")
    child = supervisor.run("bound", ["sh", "-c", f"cat {tmp_path}/app/file; echo more >> {tmp_path}/app/file"], binds={copy: real})
    assert child.said() == "copied", child.said()
    assert (copy / "file").read_text() == "copiedmore\n"
    assert (tmp_path / "app/file").read_text() == "original"
    assert said(supervisor, f"ls {tmp_path}/app") == ""


def test_nothing_of_the_host_s_network_is_seen_through_the_first_process(supervisor: Supervisor) -> None:
    assert said(supervisor, "cat /proc/1/net/dev") == said(supervisor, "cat /proc/self/net/dev")


def test_a_tree_deeper_than_python_recurses_goes_with_the_live_directory(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        place = supervisor.directory("deep")
        # Every Debian has perl; a shell would reckon the whole path anew at each step.
        script = 'chdir $ARGV[0] or die; for (1 .. 1500) { mkdir "d" and chdir "d" or die }'
        assert supervisor.run("deep", ["perl", "-e", script, str(place)]).status == 0
    assert not supervisor.live.exists()


def test_an_app_of_the_user_s_runs_in_the_open_only_where_he_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.php").write_text("<?php echo 1;")
    app, hello = open_app(docroot=site), open_app("hello")
    with Supervisor(tmp_path / "logs") as supervisor:
        monkeypatch.setattr(supervisor, "no_bottle", "no user namespace can be made: Operation not permitted")
        with pytest.raises(UsageError, match=r"no user namespace can be made.*--no-bottle"):
            app.prepare(supervisor, cache=tmp_path / "cache", progress=silent)
        hello.prepare(supervisor, cache=tmp_path / "cache", progress=silent)
    with Supervisor(tmp_path / "logs", bottle=False) as supervisor:
        prepared = app.prepare(supervisor, cache=tmp_path / "cache", progress=silent)
        assert prepared.docroot.is_relative_to(supervisor.live)
        assert not prepared.binds


def test_a_directory_that_is_removed_and_made_anew_may_be_written_to(supervisor: Supervisor) -> None:
    """Its number on the disk may be that of the one before: file systems give numbers out again."""
    for _ in range(3):
        place = supervisor.directory("again")
        said(supervisor, f"touch {place}/file")
        assert (place / "file").exists()
        shutil.rmtree(place)
