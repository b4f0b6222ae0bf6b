"""Every PHP on this host, asked what it can do, and whether the servers' account can be used and
traced. Nothing of it stays."""

import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import structs

from phpdyno.host.checkup.programs import PhpFound, TraceTrial
from phpdyno.paths import ServiceUser
from phpdyno.servers.programs.finding import program_path, version_key
from phpdyno.servers.programs.php import NO_PRELOADING, read_build_id
from phpdyno.servers.supervision.supervisor import BASE_PATH
from phpdyno.servers.supervision.tethered import run_tethered

ASK_S = 20.0
ATTACH_S = 5.0
OUR_WORDS = {"PATH": BASE_PATH, "LC_ALL": "C"}
"""The environment of a program whose words are read: in English, whatever the user's language."""
_JIT = [f"-dopcache.{name}" for name in ("enable=1", "enable_cli=1", "jit=tracing", "jit_buffer_size=16M")]
_FPM, _CLI = re.compile(r"php-fpm\d*(\.\d+)?"), re.compile(r"php\d*(\.\d+)?")


def find_fpms() -> list[PhpFound]:
    """Every php-fpm where programs are looked for, newest version first."""
    return _asked(_FPM)


def find_clis() -> list[PhpFound]:
    """Every command-line PHP."""
    return _asked(_CLI)


def find_tool(*names: str) -> str:
    """The path of the first program of these names; '' when there is none. A name that ends in -
    stands for any version after it."""
    for name in names:
        if not name.endswith("-"):
            if found := shutil.which(name, path=program_path()):
                return found
        elif versions := _programs(re.compile(re.escape(name) + r"\d+")):
            return str(max(versions, key=lambda path: version_key(path.name)))
    return ""


def _asked(name: re.Pattern[str]) -> list[PhpFound]:
    found = [describe_php(path) for path in _programs(name)]
    return sorted(found, key=lambda php: (version_key(php.version), php.path), reverse=True)


def _programs(name: re.Pattern[str]) -> list[Path]:
    """Programs of that name, one for those that are links to the same file; the longest name of it,
    which has the version in it."""
    by_file: dict[Path, Path] = {}
    for place in filter(None, program_path().split(":")):
        for path in _listed(Path(place)):
            if name.fullmatch(path.name) and shutil.which(path):
                file = path.resolve()
                by_file[file] = max(by_file.get(file, path), path, key=lambda each: len(each.name))
    return list(by_file.values())


def _listed(place: Path) -> Iterable[Path]:
    try:
        return sorted(place.iterdir())
    except OSError:
        return ()


def describe_php(path: Path) -> PhpFound:
    """What a PHP says of itself when it is started with the JIT asked for."""
    try:
        question = [str(path), *NO_PRELOADING, *_JIT, "-i"]
        answer = run_tethered(question, timeout_s=ASK_S, env={"PATH": BASE_PATH})
        build_id = read_build_id(path)
    except (OSError, subprocess.TimeoutExpired) as error:
        return PhpFound(str(path), problem=f"it does not run: {error}")
    said, complaints = answer.stdout.decode(errors="replace"), answer.stderr.decode(errors="replace")
    version = re.search(r"^PHP Version => (\S+)", said, re.MULTILINE)
    if answer.returncode != 0 or version is None:
        lines = (complaints or said).strip().splitlines() or [f"exit code {answer.returncode}"]
        return PhpFound(str(path), problem=f"it does not run: {lines[-1]}")
    opcache = re.search(r"with Zend OPcache v([^\s,]+)", said)
    minor = ".".join(version[1].split(".")[:2])
    complaint = next((line.strip() for line in complaints.splitlines() + said.splitlines() if "JIT" in line and "Warning" in line), "")
    return PhpFound(
        path=str(path),
        version=version[1],
        build_id=build_id,
        opcache=opcache[1] if opcache else "",
        jit=re.search(r"^JIT => On", said, re.MULTILINE) is not None,
        jit_problem=complaint,
        opcache_package="" if opcache else _package_beside(path, f"php{minor}-opcache"),
    )


def _package_beside(path: Path, package: str) -> str:
    """The package, if the PHP at `path` came from one and apt would bring this one as well; else
    ''."""
    if not _said("dpkg-query", "--search", str(path.resolve())):
        return ""
    policy = _said("apt-cache", "policy", package)
    known = re.search(r"^  Installed: \(none\)\n  Candidate: [^(]", policy, re.MULTILINE)
    return package if known else ""


def _said(program: str, *arguments: str) -> str:
    """What a program of the packaging system prints; '' where it is missing or fails."""
    found = shutil.which(program, path=program_path())
    if found is None:
        return ""
    try:
        answer = run_tethered([found, *arguments], timeout_s=ASK_S, env=OUR_WORDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode(errors="replace") if answer.returncode == 0 else ""


# ---- the servers' account -----------------------------------------------------------------------


def try_account(user: ServiceUser) -> str:
    """Start a trivial process as the servers' account; the kernel's word where that fails, else
    ''."""
    try:
        subprocess.run(["/bin/true"], check=True, timeout=ASK_S, **_as(user))
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


def try_strace(strace: str, user: ServiceUser) -> TraceTrial:
    """Attach strace to a trivial process of the servers' account, as counting syscalls does, and
    look at it in /proc, as measuring does.

    That process reads from a pipe of ours: it ends with us whatever happens, and strace ends with
    it.
    """
    try:
        with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **_as(user)) as traced:
            unreadable = _unreadable(traced.pid)
            trial = _attach(strace, traced.pid) if strace else TraceTrial("no strace")
    except OSError as error:
        return TraceTrial("unknown", str(error))
    return structs.replace(trial, unreadable=unreadable)


def _unreadable(pid: int) -> str:
    """Why we may not see which program a process runs, as we must of every worker; '' where we
    may."""
    try:
        Path(f"/proc/{pid}/exe").readlink()
    except PermissionError as error:
        return error.strerror or "not permitted"
    except OSError:
        return ""  # it is gone
    return ""


def _attach(strace: str, pid: int) -> TraceTrial:
    with subprocess.Popen(
        [strace, "-f", "-c", "-o", "/dev/null", "-p", str(pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=OUR_WORDS,
    ) as strace_itself:
        try:
            said = _first_words(strace_itself)
        finally:
            strace_itself.terminate()
    if "attached" in said:
        return TraceTrial("attached")
    refused = "not permitted" in said or "denied" in said.lower()
    return TraceTrial("forbidden" if refused else "unknown", said or f"it said nothing within {ATTACH_S:.0f} s")


def _first_words(process: subprocess.Popen[bytes]) -> str:
    """What it writes to standard error, until its first whole line."""
    said, deadline = b"", time.monotonic() + ATTACH_S
    pipe = process.stderr
    while pipe is not None and b"\n" not in said and (left := deadline - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            part = pipe.read1(4096)  # type: ignore[attr-defined]
            if not part:
                break
            said += part
    return " ".join(said.decode(errors="replace").split())


def _as(user: ServiceUser) -> dict[str, Any]:
    return {"user": user.uid, "group": user.gid, "extra_groups": []} if user.switch else {}
