"""Which programs and places a made-up host has, and what can be done without those that it has
not."""

import pytest
from msgspec import structs

from phpdyno.host.checkup.check import Check
from phpdyno.host.checkup.places import judge_cache, judge_live, judge_runs
from phpdyno.host.checkup.programs import PhpFound, TraceTrial, judge_apt, judge_mariadb, judge_nginx, judge_php, judge_system, judge_tools
from phpdyno.host.system import Distribution
from tests.support.made_up.hosts import ALL_TOOLS, FPM, PLACE, named

# ---- tools and servers --------------------------------------------------------------------------


def tools(trace: TraceTrial, *, yama: int | None = None, root: bool = False, container: str = "", **found: str) -> list[Check]:
    return judge_tools({**ALL_TOOLS, **found}, trace, yama=yama, root=root, container=container)


def test_a_host_without_strace() -> None:
    lines = tools(TraceTrial("no strace"), strace="")
    assert (named(lines, "strace").state, named(lines, "ptrace").state) == ("missing", "unknown")
    assert named(lines, "strace").fix == "sudo apt-get install --no-install-recommends strace"
    assert not any(line.essential for line in lines)


@pytest.mark.parametrize(
    ("yama", "root", "container", "fix"),
    [
        (1, False, "", "kernel.yama.ptrace_scope=0"),
        (2, False, "", "kernel.yama.ptrace_scope=0"),
        (3, True, "", "next boot"),
        (None, True, "docker", "--cap-add SYS_PTRACE"),
        (None, False, "", "run phpdyno as root"),
        (0, True, "", "CAP_SYS_PTRACE"),
    ],
)
def test_ptrace_forbidden(yama: int | None, root: bool, container: str, fix: str) -> None:
    line = named(tools(TraceTrial("forbidden", "Operation not permitted"), yama=yama, root=root, container=container), "ptrace")
    assert line.state == "limits"
    assert fix in line.fix
    assert "Operation not permitted" in line.found
    assert ("yama" in line.found) == (yama is not None)


def test_a_container_that_keeps_workers_from_root_is_no_host_to_measure_on() -> None:
    for outcome in ("attached", "no strace", "forbidden"):
        line = named(tools(TraceTrial(outcome, unreadable="Permission denied"), root=True, container="docker", yama=3), "ptrace")
        assert (line.state, line.essential) == ("missing", True)
        assert "Permission denied" in line.found
        assert line.fix == "start the container with --cap-add SYS_PTRACE"


def test_only_tools_that_phpdyno_runs_are_asked_for() -> None:
    lines = judge_tools({}, TraceTrial("no strace"), yama=None, root=False, container="")
    assert [line.name for line in lines] == ["strace", "perf", "valgrind", "gcc", "llvm-bolt", "ptrace"]
    assert all(line.state == "missing" and line.fix for line in lines[:-1])


def test_without_nginx_fastcgi_is_left_and_without_php_fpm_nothing() -> None:
    nginx = judge_nginx("")
    assert (nginx.state, nginx.essential) == ("missing", False)
    assert nginx.fix == "sudo sh scripts/setup.sh --packages-only nginx"
    assert "fastcgi" in nginx.means
    php = named(judge_php([], [FPM]), "php-fpm")
    assert php.essential
    assert php.fix == "sudo sh scripts/setup.sh --packages-only php8.2-fpm php8.2-opcache"


def test_one_broken_php_among_several_is_no_obstacle() -> None:
    lines = judge_php([FPM, PhpFound("/opt/php-fpm8.9", problem="it does not run: no libxml2")], [])
    assert [line.state for line in lines] == ["ok", "limits", "missing"]
    assert not any(line.essential for line in lines)
    broken = judge_php([PhpFound("/opt/php-fpm8.9", problem="it does not run: no libxml2")], [FPM])
    assert named(broken, "php-fpm").essential


@pytest.mark.parametrize(
    ("php", "state", "words"),
    [
        (PhpFound("/x", "8.3.1"), "limits", "no opcache"),
        (PhpFound("/x", "7.4.33", "", "7.4.33"), "ok", "no JIT before PHP 8.0"),
        (PhpFound("/x", "8.3.1", "", "8.3.1", jit_problem="JIT is incompatible with third party extensions"), "limits", "incompatible"),
    ],
)
def test_php_without_opcache_or_jit(php: PhpFound, state: str, words: str) -> None:
    line = named(judge_php([php], [php]), f"php-fpm {php.version[:3]}")
    assert line.state == state
    assert words in line.found


def test_opcache_is_installed_only_where_a_package_brings_it() -> None:
    own = judge_php([PhpFound("/opt/php/sbin/php-fpm", "8.5.0")], [FPM])[0]
    assert "zend_extension=opcache" in own.fix
    assert "8.5" not in own.fix
    debian = judge_php([PhpFound("/usr/sbin/php-fpm8.3", "8.3.1", opcache_package="php8.3-opcache")], [FPM])[0]
    assert debian.fix == "sudo sh scripts/setup.sh --packages-only php8.3-opcache"


def test_mariadb_is_essential_only_for_an_app_that_needs_it() -> None:
    absent = ["mariadbd", "mariadb-install-db", "mariadb"]
    assert not judge_mariadb("", absent, needed=False).essential
    line = judge_mariadb("", absent, needed=True)
    assert line.essential
    assert line.fix == "sudo sh scripts/setup.sh --packages-only mariadb-server-core mariadb-client-core"
    assert judge_mariadb("", ["mariadb"], needed=False).fix.endswith("--packages-only mariadb-client-core")


def test_apt_that_knows_nothing() -> None:
    assert judge_apt("apt knows no package wordpress", "run: sudo apt-get update").state == "limits"


# ---- disk ---------------------------------------------------------------------------------------


def test_places_that_will_not_do() -> None:
    full = structs.replace(PLACE, free_kib=1000)
    assert judge_cache(full)[0].state == "limits"
    refused = structs.replace(PLACE, refused="Read-only file system")
    assert judge_runs(refused)[0].essential
    assert len(judge_live(refused, "nobody", "")) == 1
    closed = judge_live(structs.replace(PLACE, path="/root/live", closed="/root"), "nobody", "")[0]
    assert closed.essential
    assert "nobody may not enter /root" in closed.found
    assert judge_cache(structs.replace(PLACE, free_kib=None))[0].state == "unknown"


def test_a_live_root_with_a_long_path_or_noexec() -> None:
    lines = judge_live(structs.replace(PLACE, noexec=True), "nobody", "a socket's path may have 107 bytes, ours would have 140")
    assert named(lines, "sockets").essential
    assert "PHPDYNO_LIVE" in named(lines, "sockets").fix
    assert named(lines, "noexec").state == "limits"


def test_a_disk_that_takes_its_time() -> None:
    line = named(judge_runs(structs.replace(PLACE, flush_s=0.05)), "flush")
    assert line.state == "limits"
    assert "50.0 ms" in line.found


TRIXIE = Distribution("debian", "13", "Debian GNU/Linux 13 (trixie)")


@pytest.mark.parametrize(
    ("check", "state", "words"),
    [
        (judge_system(TRIXIE, "x86_64", libc="glibc 2.41", apt=True), "ok", "phpdyno is tried on it"),
        (judge_system(TRIXIE, "aarch64", libc="glibc 2.41", apt=True), "ok", "of other systems was read"),
        (judge_system(Distribution("rocky", "9.4", "Rocky"), "x86_64", libc="glibc 2.34", apt=False), "ok", "as Debian calls them"),
        (judge_system(Distribution("alpine", "3.20", "Alpine"), "x86_64", libc="", apt=False), "limits", "a C library other than glibc"),
        (judge_system(Distribution(), "x86_64", libc="glibc 2.36", apt=True), "ok", "does not name itself"),
    ],
)
def test_which_system_it_is_and_whether_it_was_tried(check: Check, state: str, words: str) -> None:
    assert check.state == state
    assert words in f"{check.found} {check.means}"
    assert not check.essential
