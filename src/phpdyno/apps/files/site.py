"""An app's own server block for nginx: from a file, or that of a running nginx before a pool."""

from pathlib import Path

from phpdyno.config.app_toml import LIVE_NGINX, AppFile
from phpdyno.config.nginx_conf import read_nginx
from phpdyno.errors import UsageError
from phpdyno.model.nginx import NginxSite
from phpdyno.server_files.fastcgi import server_name
from phpdyno.server_files.nginx_site import fit
from phpdyno.servers.live.nginx import configuration_before
from phpdyno.servers.live.pool import import_pool


def site_of(described: AppFile) -> NginxSite | None:
    """The server block of an app that names one, else None. Raises UsageError, DynoError."""
    if not described.nginx:
        return None
    if described.author:
        raise UsageError(
            "as root, no server block is read on the word of another account",
            where=f"{described.file}: nginx",
            next_step="give the app.toml to root, or run phpdyno as its owner",
        )
    live, _, pool = described.nginx.partition(":")
    if live != LIVE_NGINX:
        return _fitting(described, Path(described.nginx))
    address = import_pool(pool).address
    return _fitting(described, configuration_before(address), pool=address)


def _fitting(described: AppFile, path: Path, pool: str = "") -> NginxSite:
    host = server_name(described.host)
    return fit(read_nginx(path), str(path), root=described.root, docroot=described.docroot, host=host, pool=pool)
