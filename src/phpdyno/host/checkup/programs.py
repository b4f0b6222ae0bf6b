"""Which tools and servers are there, and what can be done without those that are not. Pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from phpdyno.host.checkup.check import Check, install, install_servers
from phpdyno.host.system import TRIED, TRIED_MACHINE, TRIED_ON, Distribution, php_package, usual_php

JIT_SINCE = (8, 0)
LOAD_OPCACHE = "name it in the ini files of this PHP (zend_extension=opcache), or build this PHP with it"


class TraceTrial(Struct, frozen=True):
    """The outcome of attaching strace to a process of the servers' account, with strace's words.

    `unreadable`: the kernel's word where /proc does not tell us which program that process runs, ''
    where it does.
    """

    outcome: Literal["attached", "forbidden", "no strace", "unknown"]
    detail: str = ""
    unreadable: str = ""


class PhpFound(Struct, frozen=True):
    """One PHP as it describes itself.

    `jit`: it came up when asked for. `problem`: why it does not run, '' when it does.
    `opcache_package` brings the opcache that is not there; '' where there is no such package for
    this PHP.
    """

    path: str
    version: str = ""
    build_id: str = ""
    opcache: str = ""
    jit: bool = False
    jit_problem: str = ""
    problem: str = ""
    opcache_package: str = ""


class Tool(Struct, frozen=True):
    """A program, what it is for, and the packages that bring it."""

    name: str
    purpose: str
    packages: tuple[str, ...]


TOOLS = (
    Tool("strace", "syscalls per request", ("strace",)),
    Tool("perf", "the functions in which builds spend their time", ("linux-perf",)),
    Tool("valgrind", "instructions per request", ("valgrind",)),
    Tool("gcc", "building PHP", ("gcc", "libc6-dev")),
    Tool("llvm-bolt", "PHP laid out anew by BOLT", ("bolt-19", "libbolt-19-dev")),
)


def judge_tools(found: Mapping[str, str], trace: TraceTrial, *, yama: int | None, root: bool, container: str) -> list[Check]:
    """`found` maps a tool to its path, '' when it is not installed."""
    checks = []
    for tool in TOOLS:
        if path := found.get(tool.name, ""):
            checks.append(Check("tools", tool.name, "ok", path))
        else:
            checks.append(Check("tools", tool.name, "missing", "not installed", f"only for {tool.purpose}", install(*tool.packages)))
    return [*checks, _ptrace(trace, yama=yama, root=root, container=container)]


def _ptrace(trace: TraceTrial, *, yama: int | None, root: bool, container: str) -> Check:
    means = "syscalls per request cannot be counted"
    setting = "" if yama is None else f" (yama ptrace_scope {yama})"
    if trace.unreadable:
        found = f"/proc tells nothing of processes of the servers' account: {trace.unreadable} (tried)"
        fix = _allow_ptrace(None, root=root, container=container)
        return Check("tools", "ptrace", "missing", found, "no worker can be looked at, so nothing can be measured", fix, essential=True)
    match trace.outcome:
        case "attached":
            return Check("tools", "ptrace", "ok", f"strace attaches to the servers' account{setting} (tried)")
        case "no strace":
            state_said = f"not tried without strace{setting}"
            return Check("tools", "ptrace", "unknown", state_said, means, install("strace"))
        case "forbidden":
            found = f"strace may not attach to the servers' account{setting}: {trace.detail}"
            return Check("tools", "ptrace", "limits", found, means, _allow_ptrace(yama, root=root, container=container))
        case _:
            return Check("tools", "ptrace", "unknown", f"strace did not get as far{setting}: {trace.detail}", means)


def _allow_ptrace(yama: int | None, *, root: bool, container: str) -> str:
    if yama == 3:
        return "yama 3 stays until the next boot: set kernel.yama.ptrace_scope=0 in /etc/sysctl.d and boot"
    if root:
        return "start the container with --cap-add SYS_PTRACE" if container else "allow ptrace to root (CAP_SYS_PTRACE, security modules)"
    if yama:
        return "sudo sysctl -w kernel.yama.ptrace_scope=0, or run phpdyno as root"
    return "run phpdyno as root" + (", in a container started with --cap-add SYS_PTRACE" if container else "")


def judge_nginx(version: str) -> Check:
    """`version` '' when it is not installed."""
    if version:
        return Check("servers", "nginx", "ok", version)
    means = "only --transport fastcgi measures without it, and so does the estimate"
    return Check("servers", "nginx", "missing", "not installed", means, install_servers("nginx"))


def judge_php(fpms: Sequence[PhpFound], clis: Sequence[PhpFound]) -> list[Check]:
    """Every php-fpm and command-line PHP; without a php-fpm that runs nothing can be measured."""
    checks = [_php("php-fpm", php) for php in fpms]
    if not any(not php.problem for php in fpms):
        means = "nothing can be measured without it"
        missing = "not installed" if not fpms else "none that runs"
        fix = install_servers(php_package("fpm"), *_opcache())
        checks.append(Check("servers", "php-fpm", "missing", missing, means, fix, essential=True))
    checks += [_php("php", php) for php in clis]
    if not clis:
        means = "apps with an installer (wordpress) cannot be prepared, --script cannot be measured"
        checks.append(Check("servers", "php", "missing", "no command-line PHP", means, install_servers(php_package("cli", _series(fpms)))))
    return checks


def _opcache() -> tuple[str, ...]:
    """The package of opcache, where the distribution's PHP is known to have one: since PHP 8.5 it
    is a part of PHP."""
    return (php_package("opcache"),) if usual_php() else ()


def _series(phps: Sequence[PhpFound]) -> str:
    """The series of the newest one that runs, '' for the distribution's."""
    return next((".".join(php.version.split(".")[:2]) for php in phps if not php.problem), "")


def _php(kind: str, php: PhpFound) -> Check:
    minor = ".".join(php.version.split(".")[:2])
    name = f"{kind} {minor}".strip()
    if php.problem:
        return Check("servers", f"{kind} {php.path}", "limits", php.problem, "it cannot be measured", "reinstall it, or leave it out")
    told = [php.version, php.path, *([f"build id {php.build_id[:12]}"] if php.build_id else [])]
    if not php.opcache:
        said = ", ".join([*told, "no opcache"])
        fix = install_servers(php.opcache_package) if php.opcache_package else LOAD_OPCACHE
        return Check("servers", name, "limits", said, "opcache and the JIT cannot be tried", fix)
    told.append(f"opcache {php.opcache}")
    if php.jit:
        return Check("servers", name, "ok", ", ".join([*told, "the JIT comes up"]))
    if tuple(int(part) for part in minor.split(".")) < JIT_SINCE:
        return Check("servers", name, "ok", ", ".join([*told, "no JIT before PHP 8.0"]))
    said = ", ".join([*told, f"the JIT does not come up{': ' + php.jit_problem if php.jit_problem else ''}"])
    means = "opcache.jit cannot be tried"
    return Check("servers", name, "limits", said, means, "leave out the extension that forbids it (xdebug, for example)")


def judge_mariadb(version: str, absent: Sequence[str], *, needed: bool) -> Check:
    """`absent` are the programs of it that are not installed."""
    if not absent:
        return Check("servers", "MariaDB", "ok", version)
    packages = [package for package in ("mariadb-server-core", "mariadb-client-core") if any(_brings(package, name) for name in absent)]
    means = "wordpress and an app.toml with `database` cannot be measured; everything else can"
    return Check("servers", "MariaDB", "missing", f"no {', '.join(absent)}", means, install_servers(*packages), essential=needed)


def _brings(package: str, program: str) -> bool:
    return (program == "mariadb") == (package == "mariadb-client-core")


def judge_system(system: Distribution, machine: str, *, libc: str, apt: bool) -> Check:
    """Which distribution, processor and C library these are, and whether any of it was tried."""
    found = f"{system.name or 'a system that does not name itself'}, {machine}, {libc or 'a C library other than glibc'}"
    if not libc:
        return Check("servers", "system", "limits", found, f"nothing of it was tried: phpdyno was on {TRIED}", f"use {TRIED}")
    if (system.id, system.version) in TRIED_ON and machine == TRIED_MACHINE:
        return Check("servers", "system", "ok", f"{found}: phpdyno is tried on it")
    means = f"phpdyno was tried on {TRIED} ({TRIED_MACHINE}); what is said of other systems was read"
    if not apt:
        means += "; packages are named as Debian calls them"
    return Check("servers", "system", "ok", found, means)


def judge_apt(problem: str, fix: str) -> Check:
    """`problem` in words where apt cannot bring the packages of the built-in apps."""
    if not problem:
        return Check("servers", "apt", "ok", "knows the package of the built-in app wordpress")
    return Check("servers", "apt", "limits", problem, "built-in apps that are not in the cache yet cannot be prepared", fix)
