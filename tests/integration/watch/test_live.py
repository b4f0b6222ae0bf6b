"""The operator's own PHP as control: imported from a php-fpm that really runs, and as it is in
ours."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.config.fpm_conf import Variables, read_fpm_conf
from phpdyno.errors import DynoError
from phpdyno.journal.records import Incident, Planned, Proved, Record
from phpdyno.knobs.catalogue import pool_ini
from phpdyno.servers.live.masters import live_masters
from phpdyno.servers.live.pool import import_pool
from phpdyno.servers.programs.php import default_cli, default_fpm, fpm_prefix, ini_files, inspect_php
from tests.support.real.command import FEWEST, await_journal, compared, fault_of, phpdyno, records_of, row, site, start, the_run
from tests.support.real.live import LICENSE, SECRET, LivePhp, live_php
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="another account's php-fpm can be read by root only")]

OURS = frozenset({"error_log", "session.save_path", "session.save_handler", "sendmail_path"})
"""What is ours in every instance: nothing is written where the live site writes."""
NAMES = ("DB_PASSWORD", "FROM_MASTER")


@pytest.fixture
def live() -> Iterator[LivePhp]:
    with live_php() as running:
        running.start()
        yield running


def test_the_private_control_has_the_ini_the_extensions_and_the_environment_of_the_running_pool(live: LivePhp, tmp_path: Path) -> None:
    theirs = live.ask("www2", NAMES)
    assert theirs is not None
    page = "<?php echo md5(getenv('DB_PASSWORD')), ' ', getenv('FROM_MASTER'), ' ', str_repeat('x', 300);"
    docroot, runs = site(tmp_path / "site", index=page), tmp_path / "runs"
    answer = compared(docroot, runs, "--control", "live:www2", "--treatment", "ini.memory_limit=99M", "--aa", *FEWEST, "--budget", "20s")
    records = records_of(runs)
    facts = {record.arm: record.facts for record in records if isinstance(record, Proved)}
    control = facts["control"]
    differing = {name for name, value in theirs.ini.items() if control.ini.get(name) != value}
    assert differing <= OURS | {"mysqli.default_pw"}, {name: (theirs.ini[name], control.ini.get(name)) for name in differing}
    assert (theirs.ini["memory_limit"], theirs.ini["precision"], theirs.ini["serialize_precision"]) == ("77M", "9", "11")
    assert theirs.ini["user_agent"] == control.ini["user_agent"] == "closed"  # from a file that only root may read
    assert set(control.extensions) == set(theirs.extensions)
    assert control.ini["mysqli.default_pw"] == "live:www2"
    assert control.env == {"DB_PASSWORD": "live:www2", "FROM_MASTER": "live:www2", "MALLOC_ARENA_MAX": "2"}
    assert control.workers == 1  # of two: CPU is measured one request at a time
    assert facts["ini.memory_limit=99M"].ini["memory_limit"] == "99M"
    assert row(answer, "ini.memory_limit=99M")["kind"] != "invalid"
    check_plan_and_secrets(records_of(runs), runs, answer.stdout + answer.stderr)
    assert wait_for_no_traces() == []


def check_plan_and_secrets(records: list[Record], runs: Path, printed: str) -> None:
    """The plan shows ordinary settings, the notes what was left out, and nothing the secrets."""
    settings = next(record.plan.control.settings for record in records if isinstance(record, Planned))
    assert settings["php"] == str(Path(default_fpm()).resolve())
    assert settings["pool.php_admin_value[memory_limit]"] == "77M"
    assert settings["pool.php_admin_value[error_reporting]"] == "24575"
    assert settings["pool.php_flag[display_errors]"] == "1"
    assert settings["ini.opcache.memory_consumption"] == "64"
    assert (settings["pool.pm.max_children"], settings["pool.pm.max_requests"]) == ("1", "5000")  # CPU, one request at a time
    assert settings["web.socket"] == "tcp"
    assert settings["env.DB_PASSWORD"] == settings["pool.php_admin_value[mysqli.default_pw]"] == "live:www2"  # noqa: S105
    notes = " ".join(record.detail for record in records if isinstance(record, Incident) and record.kind == "settings")
    for name in ("user", "group", "listen", "access.log", "php_admin_value[error_log]"):
        assert name in notes
    everything = b"".join(path.read_bytes() for path in runs.rglob("*") if path.is_file()) + printed.encode()
    for secret in (SECRET, LICENSE):
        assert secret.encode() not in everything


def test_an_interrupted_run_asks_the_running_pool_again(live: LivePhp, tmp_path: Path) -> None:
    docroot, runs = site(tmp_path / "site"), tmp_path / "runs"
    # Slots so long that there is time to interrupt it after its first block.
    asked = ("--control", "live:www2", "--aa", "--slot", "250", *FEWEST, "--budget", "60s")
    process = start("compare", "--docroot", docroot, "--url", "/", *asked, "--runs", runs)
    await_journal(runs, "block", 1, by=process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    live.stop()
    gone = phpdyno("compare", "--resume", the_run(runs))
    others = live_masters().found  # this host may run some
    assert gone.returncode == (2 if others else 1), gone.stderr
    assert ("live:www2: no such pool runs" if others else "live: no php-fpm runs here") in fault_of(gone.stderr)
    live.start()
    again = phpdyno("compare", "--resume", the_run(runs))
    assert again.returncode == 0, again.stderr
    assert SECRET not in (the_run(runs) / "journal.jsonl").read_text()


def test_the_command_line_and_the_environment_are_read_although_php_fpm_wipes_them(live: LivePhp) -> None:
    assert b"precision" not in Path(f"/proc/{live.pid}/cmdline").read_bytes()
    (master,) = [each for each in live_masters().found if each.pid == live.pid]
    assert master.argv is not None
    assert master.argv[1:3] == ("-F", "-y")
    assert "precision=9" in master.argv
    assert master.env is not None
    assert master.env["ORIGIN"] == "from the master"
    before = readiness(live)
    os.kill(live.pid, signal.SIGUSR2)  # a reload: php-fpm executes itself anew, with its sockets in the environment
    wait_for_reload(live, before)
    (reloaded,) = [each for each in live_masters().found if each.pid == live.pid]
    assert reloaded.argv == master.argv
    assert reloaded.env is not None
    assert reloaded.env["PHP_INI_SCAN_DIR"] == master.env["PHP_INI_SCAN_DIR"]


def wait_for_reload(live: LivePhp, before: int) -> None:
    """Wait until the master says once more that it is ready; it has its title again by then."""
    deadline = time.monotonic() + 15.0
    while readiness(live) == before:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert live.ask("www2") is not None


def readiness(live: LivePhp) -> int:
    """How often it said so."""
    return (live.place / "fpm.log").read_text().count("ready to handle connections")


def test_which_pool_is_asked_and_what_an_ordinary_user_is_told(live: LivePhp) -> None:
    with pytest.raises(DynoError, match=r"more than one pool runs: .*www.*www2.*name one, as in live:www"):
        import_pool("")
    with pytest.raises(DynoError, match="did you mean www2"):
        import_pool("ww2")
    assert import_pool(f"{live.pid}/www").settings["pool.pm"] == "ondemand"
    told = as_nobody(lambda: import_pool("www2"))
    assert "it belongs to another account (root)" in told
    assert "run phpdyno as root" in told
    assert "\n" not in told


def as_nobody(action: object) -> str:
    """What an action says that it cannot do, in a child process that runs as nobody."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            action()  # type: ignore[operator]
        except DynoError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        told = stream.read().decode()
    os.waitpid(child, 0)
    return told


def found(*pids: int) -> list[int]:
    """Which of these are taken for masters; there may be others of this host's."""
    return [each.pid for each in live_masters().found if each.pid in pids]


def refused(pid: int) -> str:
    """Why a process is not."""
    (why,) = [str(each) for each in live_masters().refused if f"process {pid}:" in str(each)]
    return why


def test_a_process_of_another_account_is_never_taken_for_a_pool(live: LivePhp, tmp_path: Path) -> None:
    argv = [f"php-fpm: master process ({live.config})", "60"]
    stranger = subprocess.Popen(argv, executable=shutil.which("sleep"), user=65534, group=65534, extra_groups=[])
    try:
        assert found(live.pid, stranger.pid) == [live.pid]
        assert "it belongs to another account (nobody); run phpdyno as nobody" in refused(stranger.pid)
        assert import_pool("www2").selector == "www2"  # and not one of two
    finally:
        stranger.kill()
        stranger.wait()
    ours = subprocess.Popen(argv, executable=shutil.which("sleep"))
    try:
        assert found(live.pid, ours.pid) == [live.pid]
        assert "sleep is no php-fpm, whatever its title says" in refused(ours.pid)
    finally:
        ours.kill()
        ours.wait()
    live.config.chmod(0o666)
    assert found(live.pid) == []
    assert "others can change" in refused(live.pid)
    live.config.chmod(0o644)
    (live.place / "pool.d").chmod(0o777)
    with pytest.raises(DynoError, match=r"php-fpm\.conf:4: .*others can change .*pool\.d"):
        import_pool("www2")


TWICE = """[www2]
user = nobody
group = nogroup
listen = 127.0.0.1:{port}
pm = static
pm.max_children = 1
php_admin_value[memory_limit] = 71M
php_value[memory_limit] = 72M
php_value[precision] = 5
php_value[precision] = 6
php_value[serialize_precision] = 7
php_admin_value[serialize_precision] = 8
php_admin_value[serialize_precision] = 9
php_flag[display_errors] = on
php_value[display_errors] = stderr
php_value[user_agent] = "None"
php_value[auto_prepend_file] = None
env[TWICE] = first
env[TWICE] = second
"""


def test_what_a_pool_says_twice_is_read_as_its_workers_have_it() -> None:
    with live_php(www2=TWICE) as live:
        live.start()
        worker = live.ask("www2", ("TWICE",))
        assert worker is not None
        pool = import_pool(f"{live.pid}/www2")
        values = {pool_ini(key): pool.secrets.get(key, value) for key, value in pool.settings.items() if pool_ini(key)}
        assert len(values) == 6
        assert values == {name: worker.ini[name] for name in values}
        assert {"TWICE": pool.secrets["env.TWICE"]} == worker.env


def test_questions_execute_no_script_that_php_preloads(tmp_path: Path) -> None:
    told = tmp_path / "told"
    (tmp_path / "preload.php").write_text(f"<?php file_put_contents('{told}', 'x');")
    text = f"opcache.enable=1\nopcache.enable_cli=1\nopcache.preload={tmp_path}/preload.php\nopcache.preload_user=root\n"
    (tmp_path / "php.ini").write_text(text)
    options = ("-c", str(tmp_path / "php.ini"))
    subprocess.run([default_fpm(), *options, "-R", "-h"], capture_output=True, check=False)
    assert told.exists()  # even -h preloads
    told.unlink()
    build = inspect_php(default_fpm(), options=options)
    assert build.preload == f"{tmp_path}/preload.php"
    inspect_php(default_cli(), cli=True, options=options)
    assert ini_files(default_fpm(), options).main == str(tmp_path / "php.ini")
    fpm_prefix(default_fpm())
    assert not told.exists()


def test_our_reading_of_the_configuration_agrees_with_php_fpm_s_own() -> None:
    with live_php() as live:
        answer = subprocess.run([default_fpm(), "-tt", "-y", str(live.config)], capture_output=True, text=True, check=True)
        lines = [line.partition("NOTICE: ")[2].strip() for line in answer.stderr.splitlines()]
        at = lines.index("[www2]")
        told = dict(line.split(" = ", 1) for line in lines[at + 1 :] if " = " in line)
        entries = read_fpm_conf(live.config, prefix=Path("/usr"), variables=Variables({}))["www2"]
        ours = {f"{entry.key}[{entry.index}]" if entry.index else entry.key: entry.value.replace("$pool", "www2") for entry in entries}
        for name, value in ours.items():
            listed = told[name.replace("_flag[", "_value[")]  # php-fpm lists a flag as a value
            assert listed == value or (listed, value) in {("yes", "1"), ("no", "")}, name
