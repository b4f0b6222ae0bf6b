"""What is asked of an app: targets, their weights, and what a valid answer is."""

from typing import Literal

from msgspec import Struct, field

AnswerCheck = Literal["body", "status"]
"""How answers are compared between arms: the normalised body, or (declared by the target, shown in
the report) the status only."""

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

Scheme = Literal["http", "https"]
"""What an app believes that it is asked over; our own connections are never encrypted."""

BROWSER_ENCODING = "gzip, deflate, br"
"""Accept-Encoding of a browser over https; what only acts on it (zlib.output_compression, gzip of
nginx) is seen at work."""

SAFE_METHODS: frozenset[Method] = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that ask for nothing to be changed, and have no body here."""

OPERATION_DONE = 0
OPERATION_FAILED = 1
"""Status of a script's operation: it returned, or it threw."""


class Target(Struct, frozen=True, forbid_unknown_fields=True):
    """One request template: `method` `path` (with its query), drawn in proportion to `weight`,
    valid when it answers `status`.

    `headers` and `cookies` are sent besides those that every request has, `{env.NAME}` in their
    values and in `body` standing for a variable. `writes`: the request may change the app's private
    copy, in every arm and as often as it is sent. `name` is what reports call it. Of a script,
    `path` is the name of an operation and `status` OPERATION_DONE.
    """

    path: str
    weight: float = 1.0
    status: int = 200
    answers: AnswerCheck = "body"
    method: Method = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    body: str = ""
    writes: bool = False
    name: str = ""

    @property
    def label(self) -> str:
        """What it is called: its name, else its path, with the method where that is not GET. No two
        targets of a workload share one."""
        return self.name or (self.path if self.method == "GET" else f"{self.method} {self.path}")

    @property
    def sends(self) -> tuple[str, ...]:
        """What it sends besides method and path, by name only: values may be secrets."""
        cookies = tuple(f"cookie {name}" for name in self.cookies)
        return (*self.headers, *cookies, *(("a body",) if self.body else ()))


class Workload(Struct, frozen=True):
    """Weighted targets of one app, asked for as `host` over `scheme`.

    `forwarded`: X-Forwarded-Proto names the scheme, as a proxy in front of nginx would.
    `accept_encoding` is what every request says that it takes, '' for nothing, as it was before
    there was a choice.
    """

    targets: tuple[Target, ...]
    host: str = "localhost"
    scheme: Scheme = "http"
    forwarded: bool = False
    accept_encoding: str = ""
