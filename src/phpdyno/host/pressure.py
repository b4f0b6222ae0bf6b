"""What presses on a cgroup and on the host: memory in use, throttling, pressure stall information,
swapping, room that is left."""

from msgspec import Struct

from phpdyno.host.files.small_files import SmallFiles, whole
from phpdyno.host.surroundings import Group


class GroupUse(Struct, frozen=True):
    """Memory in use below a limit in KiB, without file pages that the kernel can drop; None where
    it is not told."""

    used_kib: int | None = None


class Throttled(Struct, frozen=True):
    """Periods of a CPU limit so far, those in which it stopped the group, and for how long
    altogether (seconds); None where not told."""

    periods: int | None = None
    stopped: int | None = None
    stopped_s: float | None = None


class HostMemory(Struct, frozen=True):
    """KiB of RAM, of what programs may still take, and pages swapped in and out since boot; None
    where the kernel does not tell."""

    total_kib: int | None
    available_kib: int | None
    swapped_in: int | None
    swapped_out: int | None


def numbers(text: str | None) -> dict[str, int]:
    """Lines of `name number`, as cgroups and /proc/vmstat have them."""
    found = {}
    for line in (text or "").splitlines():
        name, _, value = line.partition(" ")
        number = whole(value.strip())
        if number is not None:
            found[name] = number
    return found


def memory_used(tree: SmallFiles, group: Group) -> int | None:
    """KiB in use in the cgroup that sets a memory limit."""
    if not group.place:
        return None
    used = tree.number(f"{group.place}/memory.current")
    if used is None:
        used = tree.number(f"{group.place}/memory.usage_in_bytes")
    if used is None:
        return None
    stat = numbers(tree.text(f"{group.place}/memory.stat"))
    return max(0, used - stat.get("total_inactive_file", stat.get("inactive_file", 0))) // 1024


def throttled(tree: SmallFiles, group: Group) -> Throttled:
    """What a CPU limit has done so far."""
    if not group.place:
        return Throttled()
    told = numbers(tree.text(f"{group.place}/cpu.stat"))
    if "throttled_usec" in told:
        stopped_s: float | None = told["throttled_usec"] / 1e6
    else:
        stopped_s = told["throttled_time"] / 1e9 if "throttled_time" in told else None
    return Throttled(told.get("nr_periods"), told.get("nr_throttled"), stopped_s)


def pressure_10s(tree: SmallFiles, what: str, group: str = "") -> float | None:
    """Share of the last 10 s in which some task waited for `cpu`, `memory` or `io`, of a cgroup or
    the host; None where it is not told."""
    text = tree.text(f"{group}/{what}.pressure" if group else f"/proc/pressure/{what}") or ""
    for word in text.partition("\n")[0].split():
        name, _, value = word.partition("=")
        if name == "avg10":
            try:
                return float(value) / 100.0
            except ValueError:
                return None
    return None


def host_memory(tree: SmallFiles) -> HostMemory:
    """The memory of the whole host."""
    memory, paging = tree.text("/proc/meminfo") or "", f"\n{tree.text('/proc/vmstat') or ''}"
    return HostMemory(
        _number_at(memory, "MemTotal:"),
        _number_at(memory, "MemAvailable:"),
        _number_at(paging, "\npswpin "),
        _number_at(paging, "\npswpout "),
    )


def _number_at(text: str, name: str) -> int | None:
    """The number behind a name, of two hundred lines without taking them all apart."""
    at = text.find(name)
    return whole(text[at + len(name) : at + len(name) + 40].split(None, 1)[0]) if at >= 0 else None
