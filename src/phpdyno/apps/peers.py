"""An app with the peers that the command line lets it reach."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.apps.folder import FolderApp
from phpdyno.apps.source import App, Progress
from phpdyno.apps.wrapped import WrappedApp
from phpdyno.config.peers import ALLOW_NETWORK, distinct, refuse_served
from phpdyno.model.app import PreparedApp
from phpdyno.model.services.service import Tcp
from phpdyno.servers.supervision.supervisor import Supervisor


def with_peers(app: App, peers: Sequence[Tcp]) -> App:
    """The app, with these peers let through besides its own. Raises UsageError where a service of
    its own stands at one."""
    if not peers:
        return app
    if not isinstance(app, FolderApp):
        return _LetThrough(app, tuple(peers))
    described = app.described
    refuse_served(peers, described.services, where=ALLOW_NETWORK)
    network = distinct((*described.network, *peers), where=ALLOW_NETWORK)
    return FolderApp(structs.replace(described, network=network), app.original)


class _LetThrough(WrappedApp):
    """A built-in app, whose version says as well what it may reach."""

    def __init__(self, app: App, peers: tuple[Tcp, ...]) -> None:
        super().__init__(app)
        self._peers = peers

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """The app's, and that of the peers."""
        return self._versioned(super().version(supervisor, cache=cache, progress=progress))

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """Prepare the app with its peers. Raises DynoError."""
        made = super().prepare(supervisor, cache=cache, progress=progress)
        return structs.replace(made, peers=self._peers, version=self._versioned(made.version))

    def _versioned(self, version: str) -> str:
        told = " ".join(sorted(map(str, self._peers)))
        return f"{version} through {hashlib.sha256(told.encode()).hexdigest()[:8]}"
