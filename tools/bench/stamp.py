"""Which code on which machine."""

import hashlib
import subprocess
import time
from pathlib import Path

from phpdyno import __version__
from phpdyno.apps.files.copies import file_digest
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.clock import read_host_cpu
from phpdyno.host.cores import split_cores
from phpdyno.host.preflight import read_host
from phpdyno.model.facts import HostFacts
from phpdyno.session.provenance import code_digest
from tools.bench.results import Stamp

ROOT = Path(__file__).resolve().parents[2]
MEASURED_CODE = ("src", "crates", "tools/bench", "Cargo.toml", "Cargo.lock", "requirements.lock")
BACKGROUND_S = 2.0


def take_host() -> HostFacts:
    """The preflight's facts; takes 0.3 s."""
    return read_host(split_cores(), "cgroup" if find_cpu_groups() else "schedstat", {})


def take_background() -> float:
    """How many cores are busy while we wait, over two seconds. The load average would still show
    our own last section."""
    before = read_host_cpu().busy_ns
    time.sleep(BACKGROUND_S)
    return (read_host_cpu().busy_ns - before) / BACKGROUND_S / 1e9


def take_stamp(host: HostFacts) -> Stamp:
    """The checkout and the host as they are now."""
    return Stamp(
        phpdyno=__version__,
        commit=_git("rev-parse", "HEAD").strip() or "unknown",
        edited=bool(_git("status", "--porcelain", "--", *MEASURED_CODE)),
        code=_digest(),
        cpu_model=host.cpu_model,
        cores=host.cores,
        memory_kib=host.memory_kib,
        kernel=host.kernel,
        package=code_digest(),
    )


def _digest() -> str:
    """16 digits that change with any file of the measured code, whether git knows it yet or not."""
    total = hashlib.sha256()
    for name in sorted(set(_git("ls-files", "--cached", "--others", "--exclude-standard", "--", *MEASURED_CODE).splitlines())):
        path = ROOT / name
        total.update(name.encode() + b"\0" + (file_digest(path).encode() if path.is_file() else b"gone"))
    return total.hexdigest()[:16]


def _git(*argv: str) -> str:
    answer = subprocess.run(["git", *argv], cwd=ROOT, capture_output=True, text=True, check=False, errors="replace")
    return answer.stdout if answer.returncode == 0 else ""
