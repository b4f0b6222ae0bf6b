"""phpdyno explain, as a stranger uses it: on apps whose time goes to a known place, and where the
host does not let us look."""

import os
import re
import shutil
import signal
import time
from pathlib import Path

import msgspec
import pytest

from phpdyno.model.inside.explained import Explained, Figure, SectionKey
from phpdyno.report.answer.shape import MOST_LINES
from phpdyno.servers.programs.finding import find_program, program_path
from tests.integration.commands.test_doctor import programs_but
from tests.support.optional import needs
from tests.support.real.command import FEWEST, await_journal, fault_of, phpdyno, site, start, the_run
from tests.support.traces import traces_of, wait_for_no_traces

pytestmark = pytest.mark.integration
MOST_CHANGED = re.compile("what changed most: (CPU of PHP|on a CPU)")
"""Two views of one thing; which of them moved more is chance."""

SHALLOW = ("--skip", "php-functions", "--skip", "functions", "--skip", "counters", "--skip", "instructions")
SHORT = ("--budget", "3s", "--requests", "10", *SHALLOW)
DATABASE = """<?php
$db = new mysqli('localhost', 'shop', 'x', 'shop');
$db->query('SELECT SLEEP(0.004)');
for ($i = 0; $i < 5; $i++) { $db->query('SELECT * FROM goods')->fetch_all(); }
echo 'page';
"""


def explained(*argv: str | Path, runs: Path, env: dict[str, str] | None = None, short: tuple[str, ...] = SHORT) -> Explained:
    answer = phpdyno("explain", *argv, *short, "--runs", runs, "--json", env=env)
    assert answer.returncode == 0, answer.stderr
    assert wait_for_no_traces() == []
    return msgspec.json.decode(answer.stdout, type=Explained)


def figure(found: Explained, key: SectionKey, name: str) -> Figure:
    section = found.section(key)
    assert section is not None
    assert not section.unread, section.unread
    return next(each for each in section.figures if each.name == name)


def value(found: Explained, key: SectionKey, name: str, arm: int = 0) -> float:
    reading = figure(found, key, name).arms[arm]
    assert reading is not None
    return reading.value


@pytest.mark.long
def test_the_same_arm_twice_agrees(tmp_path: Path) -> None:
    found = explained("hello", "ini.opcache.enable=1", "ini.opcache.enable=1", runs=tmp_path, short=("--budget", "6s"))
    assert found.arms == ("ini.opcache.enable=1", "ini.opcache.enable=1 (again)")
    assert [f"{each.name} {each}" for section in found.sections for each in section.figures if each.clear] == []
    instructions = found.section("instructions")
    assert instructions is not None
    if not instructions.unread:
        # Within 0.1 %, or the spread that is printed says how far apart starts are.
        whole = next(each for each in instructions.figures if not each.part)
        assert whole.arms[0] is not None
        assert abs(whole.difference or 0.0) <= max(0.001 * whole.arms[0].value, whole.spread or 0.0)


def test_opcache_off_costs_php_and_brings_the_calls_back_that_load_scripts(tmp_path: Path) -> None:
    answer = phpdyno("explain", "hello", "ini.opcache.enable=0", "--budget", "12s", *SHALLOW, "--verbose", "--runs", tmp_path)
    assert answer.returncode == 0, answer.stderr
    screen = phpdyno("report", the_run(tmp_path)).stdout.splitlines()
    assert len(screen) <= MOST_LINES
    assert MOST_CHANGED.match(screen[1].removeprefix("RESULT  "))
    said = " ".join(answer.stdout.split())
    assert "A: default B: ini.opcache.enable=0" in said
    assert "(nearly) gone in default: " in said
    assert MOST_CHANGED.search(said)
    assert "opcache is off in ini.opcache.enable=0" in said
    again = phpdyno("report", the_run(tmp_path), "--json")
    found = msgspec.json.decode(again.stdout, type=Explained)
    assert figure(found, "cpu", "PHP").clear
    assert (figure(found, "cpu", "PHP").difference or 0) > 0
    assert figure(found, "syscalls", "openat").difference == pytest.approx(1.0, abs=0.1)
    assert "What the change did inside" in (the_run(tmp_path) / "report.html").read_text()
    assert wait_for_no_traces() == []


@pytest.mark.alone
@needs(shutil.which("valgrind"), "valgrind is not installed")
def test_functions_and_instructions_of_a_change_and_stacks_for_other_tools(tmp_path: Path) -> None:
    work = "<?php function busy(int $n): int { $s = 0; for ($i = 0; $i < $n; $i++) { $s += $i % 7; } return $s; } echo busy(100000);"
    docroot = site(tmp_path / "site", index=work)
    exports = ("--export-folded", tmp_path / "stacks.txt", "--export-speedscope", tmp_path / "stacks.json")
    argv = ("--docroot", docroot, "--url", "/", "ini.opcache.enable=0", *exports)
    found = explained(*argv, runs=tmp_path / "runs", short=("--budget", "3s", "--requests", "10"))
    assert value(found, "php_functions", "busy") > 50
    assert value(found, "instructions", "all of it") > 100_000
    assert figure(found, "instructions", "all of it").clear
    assert (figure(found, "instructions", "all of it").difference or 0) > 0
    functions = found.section("functions")
    assert functions is not None
    assert functions.unread or any("php-fpm" in each.name for each in functions.figures)
    for letter in "AB":
        folded = (tmp_path / f"stacks.{letter}.txt").read_text().splitlines()
        assert any("busy" in line and line.rpartition(" ")[2].isdecimal() for line in folded)
        scope = msgspec.json.decode((tmp_path / f"stacks.{letter}.json").read_bytes())
        assert {profile["type"] for profile in scope["profiles"]} == {"sampled"}
    page = (the_run(tmp_path / "runs") / "report.html").read_text()
    assert page.count('<div class="flame"') >= 2
    assert "busy" in page
    again = phpdyno("explain", *argv, "--runs", tmp_path / "again")
    assert again.returncode == 2
    assert "exists already" in fault_of(again.stderr)


@pytest.mark.alone
def test_where_a_request_sleeps_and_works_is_told_apart(tmp_path: Path) -> None:
    work = "<?php usleep(3000); for ($i = 0; $i < 200000; $i++) {} echo 'x';"
    found = explained("--docroot", site(tmp_path / "site", index=work), "--url", "/", runs=tmp_path / "runs")
    assert value(found, "wall", "sleep") == pytest.approx(3.1, abs=0.4)
    # What the scheduler says of the workers is what the account of their cgroup says.
    assert value(found, "wall", "on a CPU") == pytest.approx(value(found, "cpu", "PHP"), rel=0.35)
    # Waiting for the last part of a request, and what follows an answer, the client does not see.
    assert value(found, "wall", "all of it, in the worker") == pytest.approx(value(found, "wall", "as the client sees it"), rel=0.25)


def shop(folder: Path, extra: str, page: str = DATABASE) -> Path:
    """An app with a table of a hundred goods; its app.toml."""
    site(folder / "public", index=page)
    rows = ", ".join(f"({number})" for number in range(100))
    (folder / "shop.sql").write_text("CREATE TABLE goods (id INT PRIMARY KEY); INSERT INTO goods VALUES " + rows + ";")  # noqa: S608 (numbers of ours)
    file = folder / "app.toml"
    file.write_text(f'name = "shop"\nroot = "."\ndocroot = "public"\n{extra}\n[[target]]\npath = "/"\n')
    return file


def test_the_database_s_share_is_seen_from_both_sides(tmp_path: Path) -> None:
    find_program("mariadbd")
    found = explained(shop(tmp_path / "shop", 'database = "shop"\nsql = "shop.sql"'), runs=tmp_path / "runs")
    assert value(found, "wall", "database (MariaDB)") > 4.0
    assert value(found, "database", "MariaDB: busy") > 4.0
    assert value(found, "database", "MariaDB: CPU") < 4.0
    assert value(found, "database", "MariaDB: rows read") == pytest.approx(500, abs=20)
    assert value(found, "database", "MariaDB: connections") == pytest.approx(1.0, abs=0.01)
    assert value(found, "cpu", "database") > 0


@needs(shutil.which("redis-server", path=program_path()), "redis-server is not installed")
def test_a_service_is_called_by_its_name_and_what_is_not_known_of_another_is_said(tmp_path: Path) -> None:
    find_program("mariadbd")
    extra = (
        '[service.goods]\nkind = "mariadb"\nat = "db.shop.example:3306"\ndump = "shop.sql"\ndatabase = "shop"\n'
        '[service.cache]\nkind = "redis"\nat = "127.0.0.1:6399"'
    )
    page = DATABASE.replace("'localhost'", "'db.shop.example'")
    found = explained(shop(tmp_path / "shop", extra, page), runs=tmp_path / "runs")
    assert value(found, "wall", "service goods") > 4.0
    assert value(found, "database", "goods: busy") > 4.0
    assert value(found, "cpu", "service goods") > 0
    section = found.section("database")
    assert section is not None
    assert any(note.startswith("of cache (redis) only the CPU is known") for note in section.notes)


def test_a_lock_that_others_hold_is_told(tmp_path: Path) -> None:
    held = "<?php $f = fopen(sys_get_temp_dir() . '/pd-lock', 'c'); flock($f, LOCK_EX); usleep(3000); echo 'x';"
    found = explained("--docroot", site(tmp_path / "site", index=held), "--url", "/", "--concurrency", "3", runs=tmp_path / "runs")
    # Three requests share one lock that each holds for 3 ms.
    assert value(found, "wall", "lock") == pytest.approx(6.2, abs=1.5)
    assert value(found, "wall", "sleep") == pytest.approx(3.1, abs=0.6)


def test_without_strace_all_else_is_told(tmp_path: Path) -> None:
    env = {**os.environ, **programs_but(tmp_path / "bin", "strace")}
    found = explained("hello", "--transport", "fastcgi", runs=tmp_path / "runs", env=env)
    syscalls = found.section("syscalls")
    assert syscalls is not None
    assert "strace is not installed; install it with" in syscalls.unread
    assert {each.unread for each in found.sections if each.key in {"functions", "instructions"}} == {"left out by --skip"}
    assert value(found, "wall", "on a CPU") > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="a privilege can be given up only by who has it")
def test_where_the_kernel_forbids_strace_to_attach_all_else_is_told(tmp_path: Path) -> None:
    """The real strace, without the privilege to trace another account's process."""
    programs = programs_but(tmp_path / "bin", "strace")
    strace = tmp_path / "bin" / "strace"
    strace.write_text(f'#!/bin/sh\nexec {find_program("setpriv")} --bounding-set=-sys_ptrace {find_program("strace")} "$@"\n')
    strace.chmod(0o755)
    found = explained("hello", "--transport", "fastcgi", runs=tmp_path / "runs", env={**os.environ, **programs})
    syscalls = found.section("syscalls")
    assert syscalls is not None
    assert "ptrace is forbidden here, so syscalls cannot be seen" in syscalls.unread
    assert value(found, "wall", "on a CPU") > 0


def test_an_app_that_answers_wrongly_ends_in_one_line(tmp_path: Path) -> None:
    wrong = "<?php http_response_code(500); echo 'no';"
    answer = phpdyno("explain", "--docroot", site(tmp_path / "site", index=wrong), "--url", "/", *SHORT, "--runs", tmp_path / "runs")
    assert answer.returncode == 1
    assert "wrong_status (500)" in fault_of(answer.stderr)
    assert wait_for_no_traces() == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("hello", "ini.opcache.enabel=1"), "did you mean"),
        (("hello", "ini.opcache.enable=perhaps"), "cannot be 'perhaps'"),
        (("hello", "ini.opcache.enable=0", "ini.opcache.enable=1", "ini.opcache.jit=off"), "3 SPECs are given"),
        (("hello", "--export-folded", "/nowhere/stacks.txt"), "there is no such directory"),
        (("hello", "pool.pm.max_children=1"), "this SPEC changes nothing"),
        (("hello", "--requests", "0"), "0 is not from 1 to"),
        (("hello", "--concurrency", "0"), "0 is not from 1 to"),
        (("helo",), "did you mean hello?"),
        (("hello", "--budget", "soon"), "is not a duration"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(argv: tuple[str, ...], said: str, tmp_path: Path) -> None:
    answer = phpdyno("explain", *argv, "--runs", tmp_path / "runs")
    assert answer.returncode == 2, answer.stderr
    assert said in fault_of(answer.stderr)
    assert not (tmp_path / "runs").exists()


def test_a_setting_that_is_not_at_work_is_no_explanation(tmp_path: Path) -> None:
    answer = phpdyno("explain", "hello", "ini.opcache.enable=0;ini.opcache.memory_consumption=256", *SHORT, "--runs", tmp_path)
    assert answer.returncode == 1
    assert "is not effective" in fault_of(answer.stderr)


def test_a_setting_that_the_directory_outdoes_is_no_explanation(tmp_path: Path) -> None:
    docroot = site(tmp_path / "site")
    (docroot / ".user.ini").write_text("output_buffering = 0\n")
    argv = ("--docroot", docroot, "--url", "/", "", "ini.output_buffering=65536")
    answer = phpdyno("explain", *argv, *SHORT, "--runs", tmp_path / "runs")
    assert answer.returncode == 1, answer.stdout
    assert "in /: output_buffering is '0', by .user.ini" in fault_of(answer.stderr)


def test_an_arm_that_answers_otherwise_is_no_explanation(tmp_path: Path) -> None:
    docroot = site(tmp_path / "site", index="<?php echo str_repeat('page ', 100), ini_get('memory_limit');")
    answer = phpdyno("explain", "--docroot", docroot, "--url", "/", "ini.memory_limit=99M", *SHORT, "--runs", tmp_path / "runs")
    assert answer.returncode == 1
    assert "ini.memory_limit=99M: it does not answer as default does" in fault_of(answer.stderr)
    assert wait_for_no_traces() == []


def test_straight_to_php_fpm_there_is_no_web_server(tmp_path: Path) -> None:
    found = explained("hello", "--transport", "fastcgi", runs=tmp_path)
    section = found.section("cpu")
    assert section is not None
    assert [each.name for each in section.figures] == ["PHP", "all of it"]


@needs(shutil.which("valgrind"), "valgrind is not installed")
def test_ctrl_c_under_callgrind_leaves_nothing(tmp_path: Path) -> None:
    skipped = ("--skip", "php-functions", "--skip", "functions", "--skip", "counters", "--skip", "syscalls")
    process = start("explain", "hello", "--budget", "1s", *skipped, "--runs", tmp_path)
    deadline = time.monotonic() + 60.0
    while not any("valgrind" in trace or "callgrind" in trace for trace in traces_of()) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert wait_for_no_traces() == []


@pytest.mark.parametrize("after_s", [0.0, 0.4, 1.0])
def test_ctrl_c_leaves_nothing(tmp_path: Path, after_s: float) -> None:
    process = start("explain", "hello", "ini.opcache.enable=0", "--runs", tmp_path)
    deadline = time.monotonic() + 30.0
    while not any("php-fpm" in trace for trace in traces_of()) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(after_s)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert wait_for_no_traces() == []


@pytest.mark.long
def test_a_comparison_looks_inside_its_treatment_afterwards_goes_on_with_it_and_shows_it_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    argv = ("--docroot", site(tmp_path / "site"), "--url", "/", "--treatment", "ini.opcache.enable=0", "--explain", *FEWEST)
    process = start("compare", *argv, "--runs", runs)
    await_journal(runs, "end", by=process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert wait_for_no_traces() == []
    run = the_run(runs)
    assert f"--resume {run}" in errors
    answer = phpdyno("compare", "--resume", run, "--verbose")
    assert answer.returncode == 0, answer.stderr
    assert "looking inside ini.opcache.enable=0, which takes about two minutes, outside the budget" in answer.stderr
    said = " ".join(answer.stdout.split())
    assert "What ini.opcache.enable=0 does inside" in said
    assert MOST_CHANGED.search(said)
    # The verdict still comes last.
    assert "ini.opcache.enable=0: " in said.rpartition("what changed most")[2]
    assert phpdyno("report", run, "--verbose").stdout == answer.stdout
    assert "explain-0-wall" in (run / "report.html").read_text()
    refused = phpdyno("compare", "--resume", run)
    assert "this run is finished" in fault_of(refused.stderr)
    assert wait_for_no_traces() == []


def test_a_script_cannot_be_looked_into(tmp_path: Path) -> None:
    script = tmp_path / "bench.php"
    script.write_text("<?php return fn (): string => hash('sha256', 'x');")
    answer = phpdyno("compare", "--script", script, "--aa", "--explain", "--runs", tmp_path / "runs")
    assert answer.returncode == 2
    assert "a script has no workers to be looked into" in fault_of(answer.stderr)
    assert not (tmp_path / "runs").exists()
    other = phpdyno("explain", script, "--runs", tmp_path / "runs")
    assert other.returncode == 2
    assert not (tmp_path / "runs").exists()
