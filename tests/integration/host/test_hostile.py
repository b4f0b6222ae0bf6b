"""An app that tries everything it can think of against its host: nothing of it may be reached,
changed or left behind.

The app is tests/support/hostile, what it aims at tests/support/real/decoys.py. An attempt that
succeeds says so in the log of `prepare` or of php-fpm; what only the host can judge is judged here.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from phpdyno.apps.files.standing import MOST_COPIED_BYTES
from phpdyno.host.lock import MeasuringLock
from phpdyno.servers.supervision.live_directory import LIVE_PREFIX
from phpdyno.servers.supervision.processes import descendants
from tests.support.places import ROOT
from tests.support.real.decoys import Decoys, Namespaces, Watch, decoys, mounts_naming, processes_naming
from tests.support.traces import SESSION_PREFIX, wait_for_no_traces

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="decoys lie in places that only root may write")]

HOSTILE = ROOT / "tests" / "support" / "hostile"
NOBODY = 65534
"""The ordinary user here, and the owner of the decoys: whatever protects them, it is not that they
are somebody else's."""
GONE_WITHIN_S = 30.0
KILLED_AFTER_S = {1: (0.0, 2.0), 2: (2.0, 6.0), 3: (6.0, 14.0)}
"""From when `prepare` has started: while it is at work, while the answers are learnt, and while the
app is measured."""
RUN_TIMEOUT_S = 240.0
FINDING = re.compile(r"hostile (\{.*\})")
TOTAL = re.compile(r"hostile: (\d+) attempts, (\d+) succeeded, by (prepare|script|a worker)")
HARMLESS_SKIPS = re.compile(r"no \S+ here|\S+ is not setuid|there is a route out.*")


def _names(text: str) -> frozenset[str]:
    return frozenset(" ".join(text.split()).split("; "))


MADE = _names("""
append to a log of the original; change the code of the original; read neighbour; write to tmp; link to home; hard link to srv;
read the .git of a parent; list the runs; tcp mariadb 127.0.0.1; tcp redis 127.0.0.1; tcp smtp 127.0.0.1; tcp http 127.0.0.1; http
127.0.0.1; udp 127.0.0.1; a route to 198.51.100.53; interfaces; sockets of the host; abstract socket; unix socket /tmp; read
/etc/shadow; list /root; open /etc/passwd for writing; make a file in /etc; open /proc/sys/kernel/hostname for writing; leave the
own cgroup; the note of the guardian; configuration of the servers; inherited descriptors; device node c 1 1; environment; see the
processes of the host; read environments; pass through roots of processes; read memory; read maps; signal by posix_kill; signal by
exec; renice; taskset; no new privileges; capabilities CapBnd; capabilities CapEff; capabilities CapAmb; identity; groups; raised
by su; a setuid file; remount; unshare -m; look around in a user namespace (-Urm); enter process 1; enter the decoy; mail(); a
daemon; shared memory that stays; files in shared places; ffi; ptrace; setpriority; sched_setaffinity; prlimit; POSIX message
queue; POSIX shared memory; shared memory; semaphores; message queue; list System V objects; unshare(mount); setns; mount();
setuid(0)
""")
"""Attempts that have to be among those that were made, by `prepare` and by a request."""

WITH_A_DATABASE = frozenset({"database reads srv", "database writes srv", "database writes original"})

REACHED_UNCONFINED = _names("""
read neighbour; include neighbour; list tmp; link to home; read the .git of a parent; tcp mariadb 127.0.0.1; tcp redis 127.0.0.1;
tcp smtp 127.0.0.1; tcp http 127.0.0.1; http 127.0.0.1; udp 127.0.0.1; abstract socket; list the runs; unix socket /tmp; sockets
of the host; see the processes of the host; read environments; pass through working directories; no new privileges; capabilities
CapBnd; signal by posix_kill; signal by exec; kill SIGURG; renice; taskset; setpriority; sched_setaffinity; prlimit; POSIX message
queue; POSIX shared memory; shared memory; semaphores; message queue; read shared memory; list System V objects; raised by su;
read maps
""")
"""Attempts that succeed for a process that nothing confines, on any Debian."""

NOTICED_UNCONFINED = (
    r"heard: mariadb on 127\.0\.0\.1 ",
    r"heard: redis at an abstract name ",
    r"heard: redis at a path in tmp ",
    r"heard: udp on 127\.0\.0\.1 ",
    r"changed: '.*/secret\.txt'",
    r"removed: '.*/doomed\.txt'",
    r"changed: '.*/mailbox'",
    r"changed: '.*/site/var/log/app\.log'",
    r"made: '.*/site/public/shell-",
    r"removed: '.*/site/var/cache/old\.php'",
    r"the decoy process got SIGURG",
    r"the decoy process was changed",
    r"shared memory of the app stays on the host",
    r"left in a shared place: /tmp/",
    r"watched: .*/var/log/app\.log: modified",
    r"the daemon's port is open on the host",
    r"process \d+ by its cmdline: hostile-daemon",
)
"""What the decoys and the watchers say of such a process."""


@dataclass
class Scene:
    """A hostile app at its place on this host, with decoys all around it."""

    base: Path
    site: Path
    runs: Path
    live: Path
    account: int | None
    """None: root."""
    argv: list[str]
    env: dict[str, str]
    decoys: Decoys

    def start(self, *arguments: str | Path) -> subprocess.Popen[bytes]:
        """Start phpdyno as the setup's account, and come back when its live directory is there or
        it has ended otherwise.

        While somebody else measures on this host it is refused, which says nothing here: then it is
        started again.
        """
        who: dict[str, Any] = {"user": self.account, "group": self.account, "extra_groups": []} if self.account is not None else {}
        argv = [*self.argv, *map(str, arguments)]
        deadline = time.monotonic() + RUN_TIMEOUT_S
        while True:
            with MeasuringLock(waiting=lambda _: None):
                pass
            with self.output.open("wb") as output:
                process = subprocess.Popen(argv, env=self.env, cwd=self.live, stdout=output, stderr=output, **who)
            while process.poll() is None and not any(self.live.glob(f"{LIVE_PREFIX}*")):
                time.sleep(0.01)
            if "another phpdyno is measuring" not in self.said() or time.monotonic() > deadline:
                return process

    @property
    def output(self) -> Path:
        """Where phpdyno's own output goes."""
        return self.base / "output.txt"

    def hush(self) -> None:
        """Let requests answer as always even where they reach something, so that there is a
        measurement to be killed."""
        file = self.site / "aim.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "hush": True}))
        self.decoys.remember(self.site, self.base / ".git")

    def await_prepare(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the app's command runs."""
        deadline = time.monotonic() + 60.0
        while not any(log.stat().st_size for log in self.runs.glob("*/logs/prepare-app.log")):
            assert process.poll() is None, self.said()
            assert time.monotonic() < deadline, "the app's prepare command is not started"
            time.sleep(0.01)

    def said(self) -> str:
        """What phpdyno itself printed."""
        return self.output.read_text(errors="replace")

    def compare(self, *arguments: str | Path, margin: str = "100%") -> list[str | Path]:
        """The command's arguments; with a small margin it takes all of its time."""
        return ["compare", *arguments, "--aa", "--margin", margin, "--budget", "40s", "--runs", self.runs]

    def daemon_heard(self) -> str | None:
        """Whether the app's daemon can be reached from the host."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.decoys.aim["daemon_port"]), 0.5) as caller:
            caller.settimeout(0.5)
            if b"hostile" in caller.recv(64):
                return "the daemon's port is open on the host"
        return None

    def left(self) -> list[str]:
        """What is left of a run: processes, live directories, mounts."""
        marks = (self.decoys.spoor, f"{self.live}/{LIVE_PREFIX}")
        found = [
            line
            for line in processes_naming(*marks, self.decoys.token)
            if not line.startswith(f"process {self.decoys.sleeper.process.pid} ")
        ]
        found += [f"live directory: {path}" for path in self.live.glob(f"{LIVE_PREFIX}*")]
        return found + mounts_naming(str(self.live), str(self.base), *marks)

    def everything_left(self, namespaces: Namespaces, timeout_s: float = GONE_WITHIN_S) -> list[str]:
        """What is still left after a while."""
        deadline = time.monotonic() + timeout_s
        while (found := self.left() + namespaces.left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return [f"left: {line}" for line in found + wait_for_no_traces(1.0)]

    def findings(self) -> tuple[list[dict[str, Any]], list[tuple[int, int, str]]]:
        """Every attempt that the logs tell of, and every total: attempts, those that succeeded, by
        whom."""
        made, totals = [], []
        for log in sorted(self.runs.glob("*/logs/*.log")):
            text = log.read_text(errors="replace")
            made += [json.loads(line) for line in FINDING.findall(text)]
            totals += [(int(number), int(reached), who) for number, reached, who in TOTAL.findall(text)]
        return made, totals


def interpreter_of(account: int, env: dict[str, str]) -> str:
    """An interpreter that this account may run, and that finds phpdyno and its libraries; else the
    test is skipped."""
    for interpreter in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            asked = [interpreter, "-c", "import phpdyno._native, numpy; print('ok')"]
            answer = subprocess.run(
                asked, user=account, group=account, extra_groups=[], env=env, cwd="/", capture_output=True, text=True, check=False
            )
            if answer.stdout == "ok\n":
                return interpreter
    pytest.skip("no interpreter with phpdyno's libraries is open to another account here")


def build_site(site: Path, decoy: Decoys, *, runs: Path, live: Path, ordinary: bool) -> None:
    """The app as it lies on the host: its code root's, what it writes the servers' account's, and
    some names that nobody expects."""
    shutil.copytree(HOSTILE, site)
    for folder in ("var/log", "var/cache", "var/moved", "var/closed", "var/" + "/".join(["deep"] * 60)):
        (site / folder).mkdir(parents=True)
    for name in (
        "log/app.log",
        "cache/old.php",
        "cache/mode.txt",
        "cache/time.txt",
        "cache/full.txt",
        "cache/replaced.txt",
        "cache/twice.txt",
    ):
        (site / "var" / name).write_text("as it was\n")
    (site / "var/cache/again.txt").hardlink_to(site / "var/cache/twice.txt")
    (site / "var/closed/inner").write_text("as it was\n")
    (site / "var/line\nfeed").write_text("as it was\n")
    (site / "var" / os.fsdecode(b"not-text-\xff\xfe")).write_text("as it was\n")
    (site / "var/to-itself").symlink_to("to-itself")
    aim = {**decoy.aim, "original": str(site), "runs": str(runs), "live_root": str(live), "hush": False}
    (site / "aim.json").write_text(json.dumps(aim))
    with (site / "app.toml").open("a") as file:
        file.write(f'\n[ini]\nsendmail_path = "{decoy.trees["home"]}/sendmail -t -i"\n')
    for path in [site, *site.rglob("*")]:
        if ordinary or path.is_relative_to(site / "var") or path.is_relative_to(site / "public"):
            os.lchown(path, NOBODY, NOBODY)
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o666 if path.is_relative_to(site / "var") else 0o644)
    (site / "var/closed").chmod(0o700)


@contextlib.contextmanager
def set_up(*, ordinary: bool, large: bool = False) -> Iterator[Scene]:
    """A setup of root's below /srv, or of an ordinary user's below /tmp."""
    with contextlib.ExitStack() as stack:

        def place(prefix: str, folder: str, mode: int) -> Path:
            path = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
            stack.callback(subprocess.run, ["rm", "-rf", "--", str(path)], check=False)
            path.chmod(mode)
            if ordinary:
                os.chown(path, NOBODY, NOBODY)
            return path

        base = place("pd-hostile-", "/tmp" if ordinary else "/srv", 0o755)
        live = place(SESSION_PREFIX, "/tmp", 0o711)
        runs = place("pd-runs-", "/var/tmp", 0o755)
        cache = place("pd-cache-", "/var/tmp", 0o755)
        decoy = stack.enter_context(decoys(NOBODY, beside=base))
        build_site(base / "site", decoy, runs=runs, live=live, ordinary=ordinary)
        if large:
            with (base / "site/large.bin").open("wb") as file:
                file.truncate(MOST_COPIED_BYTES + 1)
        env = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(decoy.trees["home"]),
            "PHPDYNO_LIVE": str(live),
            "PHPDYNO_CACHE": str(cache),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{ROOT / 'src'}:{sysconfig.get_path('purelib')}",
            "HOSTILE_AIMS_AT": next(iter(re.findall(r"DECOY-SECRET-\w+", (decoy.trees["home"] / "secret.txt").read_text()))),
        }
        account = NOBODY if ordinary else None
        interpreter = interpreter_of(NOBODY, env) if ordinary else sys.executable
        decoy.remember(base / "site", base / ".git")
        yield Scene(base, base / "site", runs, live, account, [interpreter, "-m", "phpdyno"], env, decoy)


@pytest.fixture(params=["root", "an ordinary user"])
def large_scene(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """An app too large to be copied: its own files are below an overlay."""
    with set_up(ordinary=request.param != "root", large=True) as built:
        monkeypatch.setenv("PHPDYNO_LIVE", str(built.live))
        yield built


@pytest.fixture(params=["root", "an ordinary user"])
def setup(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with set_up(ordinary=request.param != "root") as built:
        monkeypatch.setenv("PHPDYNO_LIVE", str(built.live))
        yield built


def reached(made: list[dict[str, Any]]) -> list[str]:
    """Attempts that succeeded, each once, with what the first of them saw."""
    lines: dict[tuple[str, str], str] = {}
    for entry in made:
        if entry["succeeded"]:
            told_of = f"reached by {entry['where']}: {entry['name']} ({entry['tried']}): {entry.get('proof', '')!r}"
            lines.setdefault((entry["where"], entry["name"]), told_of)
    return list(lines.values())


def faults_of_the_attempts(made: list[dict[str, Any]], needed: frozenset[str], by: str) -> list[str]:
    """Whether the attempts were really made: one that is broken, or was not made at all, would
    count as one that failed."""
    names = {entry["name"] for entry in made if entry["where"] == by}
    found = [f"not tried by {by}: {name}" for name in sorted(needed - names)]
    found += [f"broken: {by}: {entry['name']}: {entry['broken']}" for entry in made if entry["where"] == by and "broken" in entry]
    skipped = [entry for entry in made if entry["where"] == by and "skipped" in entry]
    return found + [
        f"skipped: {by}: {entry['name']}: {entry['skipped']}" for entry in skipped if not HARMLESS_SKIPS.fullmatch(entry["skipped"])
    ]


def told(problems: list[str]) -> str:
    return f"{len(problems)} problems:\n" + "\n".join(problems)


def test_a_process_that_nothing_confines_reaches_the_decoys_and_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempts are worth something: without phpdyno they succeed, and every watcher here says
    so."""
    code = "require 'attempts.php'; Hostile\\tell(Hostile\\everything(getcwd(), 'script'), STDOUT, 'script');"
    with set_up(ordinary=True) as setup, Watch(setup.site) as watch:
        monkeypatch.setenv("PHPDYNO_LIVE", str(setup.live))
        (setup.runs / "earlier").mkdir()
        ini = f"sendmail_path={setup.decoys.trees['home']}/sendmail -t -i"
        answer = subprocess.run(
            ["php", "-d", ini, "-r", code],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env=setup.env,
            cwd=setup.site,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        made = [json.loads(line) for line in FINDING.findall(answer.stdout)]
        deadline = time.monotonic() + 10.0
        while not (port := setup.daemon_heard()) and time.monotonic() < deadline:
            time.sleep(0.1)
        noticed = [
            *setup.decoys.suffered(setup.site, setup.base / ".git"),
            *(f"watched: {line}" for line in watch.seen()),
            str(port),
            *setup.left(),
        ]
        end_daemons(setup)
    names = {entry["name"] for entry in made if entry["succeeded"]}
    missed = [f"did not succeed: {name}" for name in sorted(REACHED_UNCONFINED - names)]
    missed += [f"not noticed: {pattern}" for pattern in NOTICED_UNCONFINED if not any(re.search(pattern, line) for line in noticed)]
    missed += faults_of_the_attempts(made, MADE, "script")
    assert not missed, told(missed)


CONFINED = """
set -e
site=$1 base=$2
shift 2
ip link set lo up || true
mkdir "$base/keep"
mount -t tmpfs none "$base/keep"
mkdir "$base/keep/up" "$base/keep/work" "$base/keep/view"
mount -t overlay overlay -o "lowerdir=$site,upperdir=$base/keep/up,workdir=$base/keep/work" "$base/keep/view"
mount -t tmpfs none /mnt
mkdir /mnt/view
mount --bind "$base/keep/view" /mnt/view
for place in /srv /var/www /home /tmp /var/tmp /dev/shm /run /dev/mqueue /var/lib/php/sessions; do
    if [ -d "$place" ]; then mount -t tmpfs -o mode=1777 none "$place"; fi
done
mkdir -p "$site"
mount --bind /mnt/view "$site"
umount -l /mnt
cd "$site"
exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs \\
    env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin "$@"
"""
"""A shell's way to confine a command: namespaces of its own, a view of the app at its own place,
nothing of what others keep."""


def test_a_process_in_namespaces_of_its_own_reaches_nothing() -> None:
    """What is asked of phpdyno can be had, and no attempt takes for a success what is the app's
    own."""
    code = "require 'attempts.php'; Hostile\\tell(Hostile\\everything(getcwd(), 'script'), STDOUT, 'script');"
    with set_up(ordinary=False) as setup, Watch(setup.site) as watch:
        (setup.runs / "earlier").mkdir()
        ini = f"sendmail_path={setup.decoys.trees['home']}/sendmail -t -i"
        spaces = ["unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
        argv = [*spaces, "sh", "-c", CONFINED, "sh", str(setup.site), str(setup.base), "php", "-d", ini, "-r", code]
        answer = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert answer.returncode == 0, answer.stderr
        made = [json.loads(line) for line in FINDING.findall(answer.stdout)]
        problems = [f"host: {line}" for line in setup.decoys.suffered(setup.site, setup.base / ".git")]
        problems += [f"watched: {line}" for line in watch.seen()] + setup.left()
        end_daemons(setup)
    problems += reached(made) + faults_of_the_attempts(made, MADE, "script")
    assert not problems, told(problems)


def end_daemons(setup: Scene) -> None:
    """End what the app left on this host, which only this test's own processes bear the mark of."""
    deadline = time.monotonic() + 40.0
    while (left := processes_naming(setup.decoys.spoor)) and time.monotonic() < deadline:
        for line in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(line.split()[1]), signal.SIGKILL)
        time.sleep(0.02)


def problems_of(setup: Scene, watch: Watch, namespaces: Namespaces) -> list[str]:
    """What a run did to this host, and what is left of it; ends the daemons that are."""
    left = setup.everything_left(namespaces)
    end_daemons(setup)
    found = [f"reached: {line}" for line in sorted(namespaces.found)]
    found += [f"host: {line}" for line in setup.decoys.suffered(setup.site, setup.base / ".git")]
    return found + [f"watched: {line}" for line in watch.seen()] + left


def test_a_hostile_app_is_measured_and_reaches_nothing(setup: Scene) -> None:
    measured_and_nothing_reached(setup)


@pytest.mark.long
def test_a_hostile_app_that_is_not_copied_reaches_nothing_either(large_scene: Scene) -> None:
    measured_and_nothing_reached(large_scene, overlaid=True)


def measured_and_nothing_reached(setup: Scene, *, overlaid: bool = False) -> None:
    with Watch(setup.site) as watch:
        process = setup.start(*setup.compare(setup.site / "app.toml"))
        with Namespaces(process.pid, descendants, setup.daemon_heard) as namespaces:
            if overlaid:
                setup.await_prepare(process)
                assert list(setup.live.glob("*/tree-0/upper-0/*")), "what prepare writes lies in no overlay"
            process.wait(RUN_TIMEOUT_S)
        problems = problems_of(setup, watch, namespaces)
    made, totals = setup.findings()
    problems += reached(made)
    for by in ("prepare", "request"):
        problems += faults_of_the_attempts(made, MADE | WITH_A_DATABASE, by)
    problems += [f"no total by {who}" for who in ("prepare", "a worker") if not any(by == who for _, _, by in totals)]
    if process.returncode != 0:
        problems.append(f"not measured: exit code {process.returncode}: {setup.said().strip()[-2000:]}")
    assert not problems, told(problems)


@pytest.mark.long
def test_a_hostile_script_is_measured_and_reaches_nothing(setup: Scene) -> None:
    with Watch(setup.site) as watch:
        process = setup.start(*setup.compare("--script", setup.site / "bench.php"))
        with Namespaces(process.pid, descendants, setup.daemon_heard) as namespaces:
            process.wait(RUN_TIMEOUT_S)
        problems = problems_of(setup, watch, namespaces)
    made, _ = setup.findings()
    problems += reached(made) + faults_of_the_attempts(made, MADE, "script")
    if process.returncode != 0:
        problems.append(f"not measured: exit code {process.returncode}: {setup.said().strip()[-2000:]}")
    assert not problems, told(problems)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
def test_a_hostile_app_leaves_nothing_when_phpdyno_is_killed(setup: Scene, seed: int) -> None:
    after_s = random.Random(seed).uniform(*KILLED_AFTER_S[seed])
    setup.hush()
    with Watch(setup.site) as watch:
        process = setup.start(*setup.compare(setup.site / "app.toml", margin="1%"))
        with Namespaces(process.pid, descendants, setup.daemon_heard) as namespaces:
            setup.await_prepare(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(after_s)
            ended = process.poll()
            namespaces.look()
            process.kill()
            process.wait()
            problems = problems_of(setup, watch, namespaces)
    problems += reached(setup.findings()[0])
    if ended is not None:
        problems.append(f"phpdyno had ended with {ended} before it was killed")
    assert namespaces.most > 0, "nothing of the run was ever there"
    assert not problems, f"killed after {after_s:.2f} s, {told(problems)}"


def test_scenes_are_taken_down() -> None:
    """This test's own decoys end with it, whatever became of them."""
    with set_up(ordinary=True) as setup:
        places = [setup.base, setup.live, setup.runs, *setup.decoys.trees.values()]
        pid = setup.decoys.sleeper.process.pid
    assert [place for place in places if place.exists()] == []
    assert not Path(f"/proc/{pid}").exists()


def test_what_stays_of_a_run_is_seen(tmp_path: Path) -> None:
    """A namespace that a process is still in, and a mount, are what a run must not leave."""
    argv = ["sh", "-c", "unshare --mount --net sleep 60 & wait"]
    with subprocess.Popen(argv, start_new_session=True) as process, Namespaces(process.pid, descendants, lambda: None) as namespaces:
        try:
            deadline = time.monotonic() + 10.0
            while not namespaces.seen and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(2 * Namespaces.EVERY_S)
            seen = namespaces.left()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert {kind for kind in ("mnt:", "net:") if any(kind in line for line in seen)} == {"mnt:", "net:"}
    # The kernel gives the number of a namespace that is gone to the next one, of a test beside.
    holders = {line.partition(" holds ")[0] for line in seen}

    def left() -> list[str]:
        return [line for line in namespaces.left() if line.partition(" holds ")[0] in holders]

    deadline = time.monotonic() + 10.0
    while left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left() == []
    subprocess.run(["mount", "-t", "tmpfs", "none", str(tmp_path)], check=True)
    try:
        assert len(mounts_naming(str(tmp_path))) == 1
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert mounts_naming(str(tmp_path)) == []
