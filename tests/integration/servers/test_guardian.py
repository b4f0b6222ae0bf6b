"""The guardian ends everything, however we end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.paths import live_root
from phpdyno.servers.supervision.leftovers import sweep_leftovers
from phpdyno.servers.supervision.live_directory import LIVE_NAME, make_live
from phpdyno.servers.supervision.processes import boot_id, descendants, start_ticks
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.traces import wait_for_no_traces

# A child with a grandchild in a session of its own, which no process group signal reaches.
FAMILY = ["sh", "-c", "setsid sleep 1000 & sleep 1000 & wait"]


def descendants_named(marker: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def appear(marker: str, count: int) -> bool:
    deadline = time.monotonic() + 10.0
    # Seen once is enough: a process that becomes another has no name for a moment.
    while len(descendants_named(marker)) < count:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def wait_until_gone(marker: str) -> list[int]:
    deadline = time.monotonic() + 10.0
    while (left := descendants_named(marker)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def test_where_memory_runs_out_what_we_started_is_ended_first(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        child = supervisor.run("score", ["sh", "-c", "cat /proc/self/oom_score_adj"])
    assert child.said().strip() == "1000"


def test_leaving_ends_children_and_grandchildren_and_removes_the_live_directory(tmp_path: Path) -> None:
    marker = "1000.17"
    with Supervisor(tmp_path / "logs") as supervisor:
        supervisor.spawn("family", ["sh", "-c", f"setsid sleep {marker} & sleep {marker} & wait"])
        assert appear(marker, 3)
        live = supervisor.live
        assert live.is_dir()
        assert LIVE_NAME.fullmatch(live.name)
    assert not descendants_named(marker)
    assert not live.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_we_vanish_the_guardian_ends_everything(tmp_path: Path, number: signal.Signals) -> None:
    marker = f"1000.2{int(number)}"
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom phpdyno.servers.supervision.supervisor import Supervisor\n"
        f"with Supervisor(Path({str(tmp_path)!r})) as s:\n"
        f"    s.spawn('family', ['sh', '-c', 'setsid sleep {marker} & sleep {marker} & wait'])\n"
        "    print(s.live, flush=True)\n    time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert owner.stdout is not None
    with owner.stdout:
        live = Path(owner.stdout.readline().strip())
    assert appear(marker, 3)
    owner.send_signal(number)
    owner.wait()
    assert not wait_until_gone(f"sleep\0{marker}")
    deadline = time.monotonic() + 10.0
    while live.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not live.exists()


def test_what_a_killed_guardian_left_is_cleared_at_the_next_start(tmp_path: Path) -> None:
    """Both die: what is left of the session that we started is found by its executable or its
    log."""
    supervisor = Supervisor(tmp_path / "logs")
    child = supervisor.spawn("orphan", ["sh", "-c", "sleep 1000.3 & wait"], as_service=True)
    live = supervisor.live
    owner = json.loads((live / "owner.json").read_text())
    os.kill(owner["guardian"], signal.SIGKILL)
    supervisor._channel.process.wait()
    supervisor._channel._line.close()
    deadline = time.monotonic() + 5.0
    while start_ticks(child.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.02)  # the kernel ends all of its namespace
    sweep_leftovers()
    assert not live.exists()
    supervisor.close()
    assert not wait_until_gone("1000.3")


def test_a_live_directory_of_somebody_who_still_runs_is_left_alone(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "a") as first, Supervisor(tmp_path / "b") as second:
        child = first.spawn("sleeper", ["sleep", "1000.4"])
        sweep_leftovers()
        assert first.live.is_dir()
        assert second.live.is_dir()
        assert child.alive()


def test_a_session_number_used_again_by_somebody_else_is_not_touched() -> None:
    bystander = subprocess.Popen(["sleep", "1000.5"], start_new_session=True)
    live = make_live(str(live_root()))
    note = {
        "guardian": 2**22 + 1,
        "started": 1,
        "boot": boot_id(),
        "sessions": [{"leader": bystander.pid, "started": 1, "exe": str(Path("/usr/bin/sleep").resolve()), "log": ""}],
        "cgroups": [],
    }
    (live / "owner.json").write_text(json.dumps(note))
    sweep_leftovers()
    assert not live.exists()
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def await_orphan(parent: int) -> int:
    deadline = time.monotonic() + 10.0
    while not (found := descendants(parent)) and time.monotonic() < deadline:
        time.sleep(0.02)
    (orphan,) = found
    return orphan


def test_a_guardian_that_is_killed_is_noticed_instead_of_waited_for(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path / "logs")
    family = supervisor.spawn("family", ["sh", "-c", "setsid sleep 1000.8 & wait"])
    orphan = await_orphan(family.pid)
    started = start_ticks(orphan)
    owner = json.loads((supervisor.live / "owner.json").read_text())
    try:
        os.kill(owner["guardian"], signal.SIGKILL)
        with pytest.raises(DynoError, match="guardian process ended unexpectedly"):
            supervisor.spawn("late", ["sleep", "1"])
        supervisor.close()
    finally:
        # In a session of its own, and the guardian that would have ended it is gone.
        if start_ticks(orphan) == started:
            os.kill(orphan, signal.SIGKILL)
    deadline = time.monotonic() + 10.0
    while start_ticks(orphan) == started and time.monotonic() < deadline:
        time.sleep(0.02)
    assert start_ticks(orphan) != started


def test_what_others_put_under_our_name_is_not_followed(tmp_path: Path) -> None:
    """A link in /tmp that leads to a directory of ours must not make us kill or remove anything."""
    bystander = subprocess.Popen(["sleep", "1000.9"], start_new_session=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "cgroup.procs").write_text(str(bystander.pid))
    session = {"leader": bystander.pid, "started": start_ticks(bystander.pid), "exe": str(Path("/usr/bin/sleep").resolve()), "log": ""}
    note = {"guardian": 2**22 + 1, "started": 1, "boot": boot_id(), "sessions": [session], "cgroups": [str(elsewhere)]}
    (elsewhere / "owner.json").write_text(json.dumps(note))
    marked = make_live(str(tmp_path))
    shutil.copy(elsewhere / "owner.json", marked)
    link = live_root() / marked.name
    link.symlink_to(marked)
    sweep_leftovers()
    link.unlink()
    assert (marked / "owner.json").is_file()
    open_to_all = make_live(str(live_root()))
    (open_to_all / "owner.json").write_text(json.dumps(note))
    open_to_all.chmod(0o777)
    sweep_leftovers()
    assert open_to_all.exists()
    shutil.rmtree(open_to_all)
    assert bystander.poll() is None
    assert elsewhere.is_dir()
    bystander.kill()
    bystander.wait()


def test_a_program_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor, pytest.raises(DynoError, match=r"/no/such/program: cannot start thing.*: No such file"):
        supervisor.spawn("thing", ["/no/such/program"])


def test_exit_codes_and_logs_come_back(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        child = supervisor.run("talker", ["sh", "-c", "echo one; echo two >&2; exit 7"])
        assert child.status == 7
        assert child.tail() == "one | two"
        killed = supervisor.spawn("victim", ["sleep", "1000.6"])
        os.kill(killed.pid, signal.SIGSEGV)
        assert killed.wait(5.0)
        assert killed.ended_how() == "was ended by SIGSEGV"


def test_a_command_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor, pytest.raises(DynoError, match="did not end within"):
        supervisor.run("endless", ["sleep", "1000.7"], timeout_s=0.3)
    assert not wait_until_gone("1000.7")


def test_nothing_is_left_in_the_end() -> None:
    assert wait_for_no_traces() == []


def test_an_interruption_while_all_is_ended_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressed = iter([KeyboardInterrupt])

    def sleep(_: float) -> None:
        for error in pressed:
            raise error

    supervisor = Supervisor(tmp_path / "logs")
    supervisor.spawn("sleep", ["sleep", "1000.3"])
    monkeypatch.setattr("phpdyno.servers.supervision.guardian_channel.time.sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        supervisor.__exit__(None, None, None)
    assert not supervisor.live.exists()
    assert not descendants_named("1000.3")


SETTING = Path("/proc/sys/net/core/somaxconn")
needs_settings = pytest.mark.skipif(not os.access(SETTING, os.W_OK), reason="settings of the host may not be written here")
OTHER = "4111"
SETS = (
    "import time\nfrom pathlib import Path\nfrom phpdyno.servers.supervision.supervisor import Supervisor\n"
    "with Supervisor(Path({place!r}), bottle=False) as s:\n"
    f"    s.set_host({str(SETTING)!r}, {OTHER!r})\n"
    "    print(s._channel.process.pid, flush=True)\n    time.sleep(60)\n"
)


def becomes(value: str) -> bool:
    deadline = time.monotonic() + 10.0
    while SETTING.read_text().strip() != value and time.monotonic() < deadline:
        time.sleep(0.02)
    return SETTING.read_text().strip() == value


@pytest.fixture
def before() -> Iterator[str]:
    """What the setting is, whatever a test leaves."""
    held = SETTING.read_text().strip()
    assert held != OTHER
    yield held
    SETTING.write_text(held)


@needs_settings
def test_a_setting_of_the_host_is_restored_when_it_is_given_back_and_when_we_leave(tmp_path: Path, before: str) -> None:
    with Supervisor(tmp_path / "logs", bottle=False) as supervisor:
        assert supervisor.set_host(str(SETTING), OTHER) == OTHER
        assert supervisor.set_host(str(SETTING), None) == before
        supervisor.set_host(str(SETTING), "4112")
        supervisor.set_host(str(SETTING), OTHER)
    assert becomes(before)


@needs_settings
@pytest.mark.parametrize("guardian_too", [False, True])
def test_a_setting_of_the_host_is_restored_when_we_are_killed(tmp_path: Path, before: str, guardian_too: bool) -> None:
    owner = subprocess.Popen([sys.executable, "-c", SETS.format(place=str(tmp_path))], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner.stdout:
        guardian = int(owner.stdout.readline())
    assert SETTING.read_text().strip() == OTHER
    if guardian_too:
        os.kill(guardian, signal.SIGKILL)
    owner.kill()
    owner.wait()
    if guardian_too:
        time.sleep(0.2)
        assert SETTING.read_text().strip() == OTHER
        sweep_leftovers()
    assert becomes(before)


def test_no_other_file_is_ever_written(tmp_path: Path) -> None:
    other = tmp_path / "file"
    other.write_text("7")
    with Supervisor(tmp_path / "logs") as supervisor, pytest.raises(DynoError, match="not a setting that we change"):
        supervisor.set_host(str(other), "8")
    assert other.read_text() == "7"
