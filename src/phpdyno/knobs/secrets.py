"""Values that may be passwords are kept out of plan, journal and reports."""

import re
from collections.abc import Mapping

HIDDEN = "(hidden)"
_NAME = re.compile(
    r"(^|[._])(pw|default_pw|auth|credentials?|api_?key)($|[._])|(^|[._]|crypt)(?<!public_)key$"
    r"|passw|passphrase|secret|token|licen[sc]e|private_key|access_key|^pdo\.dsn\.",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s@]+@|[?&](auth|pass|password|token|key)((\[|%5B)\w*(\]|%5D))*=|(^|[;\s?&])(password|pwd|pass)=",
    re.IGNORECASE,
)
"""Passwords in an address (one may hold a slash), in the query of one, in a list of settings (a
DSN)."""
_COMMAND = "sendmail_path"
"""Its arguments may hold the account of a mail server."""


def is_secret(name: str, value: str) -> bool:
    """Whether a php.ini value looks like one not to be shown, by its name or by a password in it.
    An empty one never does."""
    return bool(value) and bool(_NAME.search(name) or _VALUE.search(value) or (name == _COMMAND and " " in value.strip()))


def masked(told: Mapping[str, str], given: Mapping[str, str], real: Mapping[str, str], *, guess: bool) -> dict[str, str]:
    """What a worker told, its secrets replaced. `given` is what its arm says of the same names,
    `real` what a marker in it stands for.

    A marker takes the place of the value that it stands for, `(hidden)` of any other; what an arm
    spells out is no secret any more. With `guess` a value that no arm gives is hidden when it looks
    like a secret.
    """

    def shown(name: str, value: str) -> str:
        if name in real:
            return given[name] if value == real[name] else HIDDEN
        return HIDDEN if guess and name not in given and is_secret(name, value) else value

    return {name: shown(name, value) for name, value in told.items()}
