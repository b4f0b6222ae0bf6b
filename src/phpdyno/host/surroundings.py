"""What is around us: a virtual machine, a container, and the share of the host that our cgroup
leaves us."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from phpdyno.host.files.small_files import SmallFiles, whole

# Names as systemd-detect-virt uses them, by what the firmware says of the machine.
_MAKERS = {
    "QEMU": "qemu",
    "KVM": "kvm",
    "Amazon EC2": "amazon",
    "Google": "google",
    "OpenStack": "kvm",
    "VMware": "vmware",
    "VMW": "vmware",
    "innotek GmbH": "oracle",
    "VirtualBox": "oracle",
    "Xen": "xen",
    "Bochs": "bochs",
    "Parallels": "parallels",
    "BHYVE": "bhyve",
    "Hyper-V": "microsoft",
    "Virtual Machine": "microsoft",
    "Hetzner": "kvm",
}
_CLOCKS = {"kvm-clock": "kvm", "hyperv": "microsoft", "xen": "xen"}
_DMI = ("product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version")
_NO_LIMIT = 1 << 60
"""A memory limit of cgroup v1 above this is the kernel's way to say that there is none."""


class CgroupLimits(Struct, frozen=True):
    """What our cgroup and its parents leave us: cores of CPU time per second and KiB; None without
    a limit."""

    cpu_cores: float | None = None
    memory_kib: int | None = None


def virtual_machine(tree: SmallFiles) -> str | None:
    """The hypervisor's name, `unknown` when there is one without a name, '' on bare metal; None
    when nothing could be read."""
    cpuinfo = tree.text("/proc/cpuinfo")
    named = tree.text("/sys/hypervisor/type") or _by_clock(tree)
    said = [words for name in _DMI if (words := tree.text(f"/sys/class/dmi/id/{name}"))]
    made = next((name for words in said for maker, name in _MAKERS.items() if maker in words), "")
    if " hypervisor" in (cpuinfo or ""):
        return made or named or "unknown"
    if "flags\t" in (cpuinfo or ""):  # an x86 processor that says it is not virtual; some clouds' bare metal has a cloud's firmware
        return named or ""
    if tree.has("/proc/device-tree/hypervisor"):
        return made or named or "unknown"
    return named or made or (None if cpuinfo is None else "")


def _by_clock(tree: SmallFiles) -> str:
    sources = tree.text("/sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    return next((name for clock, name in _CLOCKS.items() if clock in sources), "")


def container(tree: SmallFiles) -> str:
    """The container manager's name; '' outside a container or where nothing tells."""
    if named := tree.text("/run/systemd/container"):
        return named
    for file, name in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if tree.has(file):
            return name
    for entry in (tree.text("/proc/1/environ") or "").split("\0"):
        if entry.startswith("container="):
            return entry.partition("=")[2] or "unknown"
    groups = tree.text("/proc/self/cgroup") or ""
    return next((name for name in ("kubepods", "docker", "lxc", "libpod") if name in groups), "")


class Group(Struct, frozen=True):
    """One limit of a cgroup: `value` is cores or KiB, `place` the directory that sets it; `hidden`
    says why not all can be known, or ''.

    `value` is None where nothing on the way up limits, as far as it can be seen: with something
    `hidden` that is not "no limit".
    """

    value: float | None = None
    place: str = ""
    hidden: str = ""


class GroupLimits(Struct, frozen=True):
    """The tightest limits of a process's cgroups and those above them: CPU in cores, memory in KiB
    (`memory.max` and `memory.high`)."""

    cpu: Group
    memory: Group


def cgroup_limits(tree: SmallFiles) -> CgroupLimits | None:
    """The tightest CPU and memory limits of our cgroup and those above it, in either version of
    cgroups; None where they are hidden."""
    if tree.text("/proc/self/cgroup") is None:
        return None
    found = limits_of(tree)
    return CgroupLimits(found.cpu.value, None if found.memory.value is None else int(found.memory.value))


def limits_of(tree: SmallFiles, pid: int | str = "self") -> GroupLimits:
    """The same of any process, each with the cgroup that sets it."""
    cores: list[tuple[float, str]] = []
    memory: list[tuple[float, str]] = []
    hidden = {"cpu": "", "memory": ""}
    told = tree.text(f"/proc/{pid}/cgroup")
    if told is None:
        hidden = dict.fromkeys(hidden, f"/proc/{pid}/cgroup cannot be read")
    elif any(line.endswith("/..") or "/../" in line for line in told.splitlines()):
        hidden = dict.fromkeys(hidden, "its cgroup lies outside of what we see")
    for group, kind in groups_of(tree, pid):
        quota, period = _quota(tree, group, kind)
        if quota is not None and quota > 0 and period:
            cores.append((quota / period, group))
        for name in ("memory.max", "memory.high") if kind == "cgroup2" else ("memory.limit_in_bytes",):
            limit = tree.number(f"{group}/{name}")
            if limit is not None and limit < _NO_LIMIT:
                memory.append((limit // 1024, group))
        for controller, names in _FILES.items():
            hidden[controller] = hidden[controller] or _unreadable(tree, group, names)
    return GroupLimits(_tightest(cores, hidden["cpu"]), _tightest(memory, hidden["memory"]))


def _tightest(found: Sequence[tuple[float, str]], hidden: str) -> Group:
    value, place = min(found, default=(None, ""))
    return Group(value, place, hidden)


_FILES = {"cpu": ("cpu.max", "cpu.cfs_quota_us"), "memory": ("memory.max", "memory.high", "memory.limit_in_bytes")}


def _unreadable(tree: SmallFiles, group: str, names: tuple[str, ...]) -> str:
    return next(
        (f"{group}/{name} cannot be read" for name in names if tree.text(f"{group}/{name}") is None and tree.has(f"{group}/{name}")), ""
    )


def _quota(tree: SmallFiles, group: str, kind: str) -> tuple[int | None, int | None]:
    """Microseconds of CPU per period, and the period."""
    if kind == "cgroup2":
        quota, _, period = (tree.text(f"{group}/cpu.max") or "").partition(" ")
        return whole(quota), whole(period)
    return tree.number(f"{group}/cpu.cfs_quota_us"), tree.number(f"{group}/cpu.cfs_period_us")


def groups_of(tree: SmallFiles, pid: int | str = "self") -> Iterator[tuple[str, str]]:
    """Directory and file system type of a process's groups, up to the root of each mounted
    hierarchy."""
    ours: dict[str, str] = {}
    for line in (tree.text(f"/proc/{pid}/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        ours.update(dict.fromkeys(controllers.split(","), path))
    for line in (tree.text("/proc/mounts") or "").splitlines():
        _, place, kind, options = [*line.split(), "", "", "", ""][:4]
        if kind not in {"cgroup", "cgroup2"}:
            continue
        named = "" if kind == "cgroup2" else next((each for each in options.split(",") if each in {"cpu", "memory"}), None)
        if named is not None:
            group = PurePosixPath(ours.get(named) or "/")
            for each in (group, *group.parents):
                yield f"{place}/{str(each).lstrip('/')}", kind
