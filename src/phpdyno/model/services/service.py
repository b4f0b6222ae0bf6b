"""Services that an app talks to, as its app.toml names them: what they are, and production's own
addresses of them."""

from pathlib import Path

from msgspec import Struct

from phpdyno.model.services.kinds import Kind


class Tcp(Struct, frozen=True):
    """A TCP address as the app has it: a host's name in small letters or an IP address, and a
    port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Passage(Struct, frozen=True):
    """A way out of the bottle: what connects there `at` an IP address and port is carried `to` a
    peer of the host's network."""

    at: Tcp
    to: Tcp


class UnixSocket(Struct, frozen=True):
    """The path of a unix socket."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


Address = Tcp | UnixSocket


class Service(Struct, frozen=True):
    """One private service of an app.

    `at` are its addresses, at least one. `dump` fills it; `database` is the name of the database
    that the dump is loaded into, None where the dump names its own, or there is none. `users` are
    names that the app signs in with where the server must know them (`ServiceKind.knows_users`).
    `password` is what the app sends to Redis with `AUTH` alone; `{env.NAME}` in it stands for a
    variable of phpdyno's own environment.
    """

    name: str
    kind: Kind
    at: tuple[Address, ...]
    dump: Path | None = None
    database: str | None = None
    users: tuple[str, ...] = ()
    password: str | None = None

    @property
    def tcp(self) -> tuple[Tcp, ...]:
        """Its TCP addresses."""
        return tuple(address for address in self.at if isinstance(address, Tcp))

    @property
    def sockets(self) -> tuple[Path, ...]:
        """The paths of its unix sockets."""
        return tuple(address.path for address in self.at if isinstance(address, UnixSocket))


class PreparedService(Struct, frozen=True):
    """A service whose data is in the cache: `seed` is a data directory to be copied for a run, None
    for one that starts empty."""

    service: Service
    seed: Path | None = None
