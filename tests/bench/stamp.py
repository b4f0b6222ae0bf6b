"""Which code on which machine."""

import hashlib
import os
import platform
import subprocess
from pathlib import Path

from phpdyno import __version__
from phpdyno.host.cores import split_cores
from phpdyno.host.preflight import read_host
from phpdyno.model.facts import HostFacts
from tests.bench.results import Stamp

ROOT = Path(__file__).resolve().parents[2]
MEASURED_CODE = ("src", "crates", "tests/bench", "Cargo.toml", "Cargo.lock", "requirements.lock")


def take_host(versions: dict[str, str] | None = None) -> HostFacts:
    """The preflight's facts; takes 0.3 s."""
    return read_host(split_cores(), "", versions or {})


def take_stamp(host: HostFacts) -> Stamp:
    """The checkout and the host as they are now."""
    return Stamp(
        phpdyno=__version__,
        commit=_git("rev-parse", "HEAD").strip() or "unknown",
        changes=_changes(),
        cpu_model=host.cpu_model,
        cores=len(os.sched_getaffinity(0)),
        memory_kib=host.memory_kib,
        kernel=platform.release(),
    )


def _changes() -> str:
    """Eight digits that change with any uncommitted edit of the measured code, files that git does not know yet included."""
    edits = _git("diff", "HEAD", "--", *MEASURED_CODE)
    total = hashlib.sha256(edits.encode())
    unknown = _git("ls-files", "--others", "--exclude-standard", "--", *MEASURED_CODE).splitlines()
    for name in unknown:
        total.update(name.encode() + (ROOT / name).read_bytes())
    return total.hexdigest()[:8] if edits or unknown else ""


def _git(*argv: str) -> str:
    answer = subprocess.run(["git", *argv], cwd=ROOT, capture_output=True, text=True, check=False, errors="replace")
    return answer.stdout if answer.returncode == 0 else ""
