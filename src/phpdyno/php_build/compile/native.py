"""What march=native stands for on this machine: what is compiled for it runs on another one only by
luck."""

import hashlib
import os
import re

from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.supervision.supervisor import BASE_PATH

NATIVE = "native"
_MARCH = re.compile(r"^\s*-march=\s+(\S+)", re.MULTILINE)


def native_machine() -> str:
    """GCC's name for this machine's processor, and a digest of all that it switches on and off for
    it: `znver3, 1a2b3c4d`. '' where GCC knows no march=native. Raises DynoError where there is no
    gcc."""
    answer = told([find_program("gcc", BASE_PATH), f"-march={NATIVE}", "-Q", "--help=target"], {**os.environ, "LC_ALL": "C"})
    return machine_in(answer.stdout.decode(errors="replace")) if answer.returncode == 0 else ""


def machine_in(said: str) -> str:
    """The same of what gcc says. Two machines of one name may differ in what their hypervisors
    show."""
    found = _MARCH.search(said)
    return f"{found[1] if found else NATIVE}, {hashlib.sha256(said.encode()).hexdigest()[:8]}"
