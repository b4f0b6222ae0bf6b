"""What the measuring loop asks of whatever runs the arms: servers of an app, or the host of a
script."""

from collections.abc import Sequence
from typing import Any, Protocol

from phpdyno.host.cores import Cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.facts import WorkerFacts
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.facts.meter import Meter
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.supervision.supervisor import Supervisor


class LiveInstance(Protocol):
    """One start of an arm. `web_meter` is None where no web server belongs to it."""

    arm: Arm
    number: int
    php_meter: Meter
    web_meter: Meter | None

    @property
    def php_pid(self) -> int:
        """The process that performs the operations, or the master of those that serve requests."""

    def read_facts(self, env_names: tuple[str, ...]) -> WorkerFacts:
        """Facts of the running process. Raises ArmFailed."""

    def worker_kib(self) -> int | None:
        """Private memory of one of its workers, the median over them; None where it may not be
        read."""

    def await_idle(self) -> None:
        """Wait until none of its PHP processes is on a CPU."""

    def crashes(self) -> str:
        """What of it a signal ended, in words; '' when nothing."""

    def complaint(self) -> str:
        """What explains failed requests; '' when nothing does."""

    def broken(self) -> str:
        """What of it has ended, in words; '' while all of it runs."""

    def ask_to_end(self) -> None:
        """Signal its processes without waiting."""

    def stop(self) -> None:
        """End its processes and close its meters."""


class RequestFailed(ArmFailed):
    """A request of an instance that had started failed. It may be chance: several blocks have to
    fail before it says something of the arm. `crashed` says what of the instance had ended by then,
    '' when nothing: once it is stopped nobody could tell."""

    def __init__(self, instance: LiveInstance, words: str) -> None:
        why = instance.complaint()
        super().__init__(instance.arm, words + (f"; {why}" if why and why not in words else ""))
        self.instance = instance
        self.crashed = instance.crashes() or instance.broken()


class Stage(Protocol):
    """Starts and stops instances of any number of arms beside each other."""

    supervisor: Supervisor
    app: PreparedApp
    cores: Cores
    database: Database | None

    def start(self, arms: Sequence[Arm]) -> Sequence[LiveInstance]:
        """One instance of each arm; each answers. Raises ArmFailed; then none is left running."""

    def stop(self, instances: Sequence[Any]) -> None:
        """End instances that `start` gave, side by side, and remove what they leave."""
