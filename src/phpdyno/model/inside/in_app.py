"""php.ini settings as a request of the app itself has them."""

from msgspec import Struct, field


class SeenInRequest(Struct, frozen=True):
    """What one request of a target had in force, by name: when it `begun`, before the app's first
    line, and when it `ended`, after its last.

    `user_ini` names for each setting the directory's own file (`.user.ini`) that sets it.
    `takes_gzip`: it says so in Accept-Encoding; `session`: it opens a session.
    """

    target: str
    begun: dict[str, str]
    ended: dict[str, str]
    user_ini: dict[str, str] = field(default_factory=dict)
    takes_gzip: bool = False
    session: bool = False
