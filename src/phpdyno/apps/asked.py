"""An app asked in another way than its description says: another host, https, another
Accept-Encoding."""

from pathlib import Path

from msgspec import structs

from phpdyno.apps.folder import FolderApp
from phpdyno.apps.source import App, Progress
from phpdyno.apps.wrapped import WrappedApp
from phpdyno.config.app_toml import check_accept_encoding, parse_host
from phpdyno.errors import UsageError
from phpdyno.model.app import PreparedApp
from phpdyno.model.workload import Workload
from phpdyno.servers.supervision.supervisor import Supervisor


def asked_as(app: App, *, host: str = "", accept_encoding: str | None = None, nginx: str = "") -> App:
    """The app, asked as `host` ('' for its own; `https://NAME` as if over TLS), with this
    Accept-Encoding (None for its own), and through this server block of nginx ('' for its own).
    Raises UsageError."""
    changes: dict[str, object] = {}
    if host:
        name, scheme = parse_host(host, where=f"--host {host}")
        changes |= {"host": name, "scheme": scheme or "http"}
    if accept_encoding is not None:
        changes["accept_encoding"] = check_accept_encoding(accept_encoding, where="--accept-encoding")
    if isinstance(app, FolderApp) and (changes or nginx):
        return FolderApp(structs.replace(app.described, **changes, **({"nginx": nginx} if nginx else {})), app.original)
    if nginx:
        raise UsageError("a built-in app has no server block of yours", where=f"--nginx {nginx}", next_step="leave it out")
    if not changes:
        return app
    return _AskedAs(app, structs.replace(app.workload, **changes))


class _AskedAs(WrappedApp):
    """A built-in app with another workload than its own."""

    def __init__(self, app: App, workload: Workload) -> None:
        super().__init__(app)
        self._workload = workload

    @property
    def workload(self) -> Workload:
        """The other one."""
        return self._workload

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """Prepare the app, asked so. Raises DynoError."""
        return structs.replace(super().prepare(supervisor, cache=cache, progress=progress), workload=self._workload)
