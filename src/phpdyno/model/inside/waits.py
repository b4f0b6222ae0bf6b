"""What a worker waits for: kinds of waiting, and how often each was seen."""

from typing import Literal

from msgspec import Struct, field

WaitKind = Literal["idle", "web", "database", "service", "network", "disk", "sleep", "lock", "process", "other"]
"""`idle`: for the next request. `web`: for the web server, to read the request or write the answer.
`process`: for a child's end."""


class Wait(Struct, frozen=True):
    """What one sample found: the kind, and what precisely (the database's or service's name, a
    peer's address, a file, a call)."""

    kind: WaitKind
    name: str = ""


class WaitsSeen(Struct, frozen=True):
    """Samples of a pool's workers over an interval of `wall_ns`, and what the scheduler says of the
    same interval, all workers together.

    Each of the `sweeps` looked at every worker once. `waits` were asleep in the kernel (`idle`
    among them), `running` were not: on a CPU or waiting for one, which `on_cpu_ns` and `queued_ns`
    tell apart exactly.
    """

    sweeps: int
    wall_ns: int
    on_cpu_ns: int
    queued_ns: int
    running: int = 0
    waits: dict[Wait, int] = field(default_factory=dict)

    def blocked_ns(self, wait: Wait) -> float:
        """How long all workers together waited for this.

        What was not run nor queued was waited, so the samples only divide that: they may be late
        where a core is busy, and then find too few processes running, but their proportions among
        those asleep hold.
        """
        asleep = sum(self.waits.values())
        if not asleep:
            return 0.0
        workers = (asleep + self.running) / self.sweeps
        return max(0.0, self.wall_ns * workers - self.on_cpu_ns - self.queued_ns) * self.waits.get(wait, 0) / asleep
