"""A row of the connector lab: which client, by which engine, with how many operations in flight."""

from typing import Literal

from msgspec import Struct

Engine = Literal["sync", "fibers", "fibers-sockets", "batch", "window", "revolt", "swoole", "threads"]
Through = Literal["unix", "tcp"]
Packer = Literal["pure", "msgpack", "codec"]

CEILING = "ceiling"
"""The connector that is none: requests that were built beforehand, sent by the native load core."""


class ConnectorRow(Struct, frozen=True):
    """One way of asking a Tarantool.

    `connector` names the client, `packer` what packs its messages, `engine` how its operations are
    under way at once, `in_flight` how many are (1 for `sync`), in each of its `processes`.
    `autoload` are PHP files that define a client of somebody else's; `settings`, by full knob name,
    are what its PHP has otherwise than the run's: extensions (`ext.swoole`), another PHP (`php`).
    """

    connector: str
    engine: Engine = "sync"
    in_flight: int = 1
    transport: Through = "unix"
    packer: Packer = "pure"
    processes: int = 1
    autoload: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Its name for people, and the arm's: `own fibers@128 unix`."""
        flight = f"@{self.in_flight}" if self.in_flight > 1 else ""
        packer = "" if self.packer == "pure" else f" {self.packer}"
        several = f" x{self.processes}" if self.processes > 1 else ""
        return f"{self.connector}{packer} {self.engine}{flight}{several} {self.transport}"
