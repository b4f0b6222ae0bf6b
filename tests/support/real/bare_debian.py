"""A Debian with nothing in it, in a directory of its own: a chroot whose mounts and processes end
with each command."""

import os
import shutil
import subprocess
from pathlib import Path

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BOOTSTRAP_S = 600.0
_ENTER = r"""
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
for place in $TMPFS; do mount -t tmpfs tmpfs "$root$place"; done
exec chroot "$root" "$@"
"""
_ENVIRONMENT = {
    "HOME": "/root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    # The host may trust certificates that Debian does not.
    "PIP_CERT": str(CERTIFICATES),
    "CARGO_HTTP_CAINFO": str(CERTIFICATES),
    "CARGO_BUILD_JOBS": "1",
}


def why_not() -> str:
    """Why none can be made here; '' where one can."""
    if os.geteuid() != 0:
        return "only root can make a chroot"
    if shutil.which("debootstrap") is None:
        return "debootstrap is not installed"
    return "" if _archives() else "apt has no lists of Debian's archive here"


class BareDebian:
    """A release of Debian (`bookworm`, `trixie`) in `root`, as debootstrap's smallest variant
    leaves it, its security updates among its sources."""

    def __init__(self, suite: str, root: Path) -> None:
        self.suite = suite
        self.root = root

    def make(self) -> None:
        """Unpack it, where it is not there yet."""
        suite, root = self.suite, self.root
        if (root / "etc/apt/sources.list").exists() and not (root / "debootstrap").exists():
            return
        shutil.rmtree(root, ignore_errors=True)
        archives = _archives()
        argv = ["debootstrap", "--variant=minbase", suite, str(root), archives["Debian"]]
        subprocess.run(argv, check=True, capture_output=True, timeout=BOOTSTRAP_S)
        lines = [f"deb {archives['Debian']} {name} main" for name in (suite, f"{suite}-updates")]
        if "Debian-Security" in archives:
            lines.append(f"deb {archives['Debian-Security']} {suite}-security main")
        (root / "etc/apt/sources.list").write_text("\n".join(lines) + "\n")
        shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")

    def run(self, script: str, *, cwd: str = "/", timeout_s: float = 120.0, tmpfs: tuple[str, ...] = ("/run", "/tmp")) -> str:
        """What a script of sh prints in it, both outputs in one. Raises AssertionError where it
        fails, with all that it said."""
        answer = self.answer(script, cwd=cwd, timeout_s=timeout_s, tmpfs=tmpfs)
        assert answer.returncode == 0, f"{script}\n{answer.stdout}"
        return answer.stdout

    def answer(
        self, script: str, *, cwd: str = "/", timeout_s: float = 120.0, tmpfs: tuple[str, ...] = ("/run", "/tmp")
    ) -> subprocess.CompletedProcess[str]:
        """The same of a script that may fail; `tmpfs` are directories that are in memory, as /tmp
        is since Debian 13."""
        self._trust()
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
        return subprocess.run(
            [*apart, "sh", "-ec", _ENTER, "sh", str(self.root), "sh", "-c", f"cd {cwd} && {{\n{script}\n}}"],
            env={**_ENVIRONMENT, "TMPFS": " ".join(tmpfs)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def _trust(self) -> None:
        if CERTIFICATES.is_file():
            (self.root / CERTIFICATES.parent.relative_to("/")).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(CERTIFICATES, self.root / CERTIFICATES.relative_to("/"))

    def processes(self) -> list[str]:
        """The command lines of processes that run in it."""
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                if (each / "root").readlink().is_relative_to(self.root):
                    found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return found

    def mounts(self) -> list[str]:
        """What is mounted in it, as this process sees it."""
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return [line for line in lines if Path(line.split()[4]).is_relative_to(self.root)]


def _archives() -> dict[str, str]:
    """The address of each of Debian's archives that this host's apt uses, by its label."""
    apt = shutil.which("apt-get")
    if apt is None:
        return {}
    asked = [apt, "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    pairs = (line.split(" ", 1) for line in told.splitlines())
    return {label: address for label, address in pairs if label in {"Debian", "Debian-Security"}}
