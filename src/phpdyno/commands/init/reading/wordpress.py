"""WordPress: the constants of wp-config.php, and of Bedrock the variables of .env."""

import re
from pathlib import Path

from phpdyno.apps.project.php_values import Value, assigned_in, defined_in
from phpdyno.commands.init.found import Configuration, ProjectLayout, ServiceFound
from phpdyno.commands.init.reading.by_env import OFF, host_of, services_by_urls, with_password
from phpdyno.commands.init.reading.env_file import variables_of
from phpdyno.commands.init.reading.pages import content_of
from phpdyno.commands.init.reading.services import service_at

_SITE = re.compile(rb"'siteurl'\s*,\s*'(https?://[^'\\]+)'")
MOST_OF_DUMP = 64 << 20


def configuration_of(layout: ProjectLayout) -> Configuration:
    """A plain WordPress; wp-config.php may lie in the directory above."""
    file = next((each for each in (layout.docroot / "wp-config.php", layout.docroot.parent / "wp-config.php") if each.is_file()), None)
    if file is None:
        return Configuration(remarks=("there is no wp-config.php: WordPress would show its installer",))
    held = defined_in(file)
    told = {name: value for name, value in held.items() if isinstance(value, str)}
    services: list[ServiceFound | None] = []
    secrets: dict[str, str] = {}
    remarks = []
    unknown = [name for name in ("DB_NAME", "DB_HOST") if not told.get(name)]
    if unknown:
        remarks.append(f"wp-config.php makes {' and '.join(unknown)} while it runs: write the database's [service] yourself")
    else:
        named = {"database": told["DB_NAME"], "user": told.get("DB_USER", "")}
        services.append(service_at("mariadb", told["DB_HOST"], "", said_in=file.name, **named))
    services += _caches(layout, held, secrets, file)
    host = host_of(told.get("WP_HOME", "") or told.get("WP_SITEURL", ""))
    host_from = f"WP_HOME in {file.name}"
    if not host:
        host, host_from = host_of(_site_in_dumps(layout.root)), "siteurl in the dump"
    if not host:
        remarks.append("WordPress redirects to the address in its database: write that as host where check meets a redirect")
    if told.get("DISABLE_WP_CRON", "false").lower() in OFF:
        remarks.append("wp-cron.php is started by visits: define('DISABLE_WP_CRON', true) and a timer measure pages alone")
    return Configuration(
        services=tuple(each for each in services if each), host=host, host_from=host_from, remarks=tuple(remarks), secrets=secrets
    )


def bedrock_configuration_of(layout: ProjectLayout) -> Configuration:
    """A WordPress of Bedrock: all of it is in .env."""
    held = variables_of(layout.root, ".env", ".env.local")
    secrets: dict[str, str] = {}
    services = list(services_by_urls(held, {}, secrets))
    if not any(each.kind == "mariadb" for each in services) and held.get("DB_NAME"):
        named = {"database": held["DB_NAME"], "user": held.get("DB_USER", "")}
        service = service_at("mariadb", held.get("DB_HOST", "localhost"), "", said_in=".env", **named)
        services += [service] if service else []
    development = held.get("WP_ENV", "production") != "production"
    return Configuration(
        services=tuple(services),
        env={"WP_ENV": "production"} if development else {},
        env_why=".env says that this is a development's copy; this wins over it",
        host=host_of(held.get("WP_HOME", "")),
        host_from="WP_HOME in .env",
        remarks=() if held else ("there is no .env: Bedrock wants DB_NAME, WP_HOME and others",),
        secrets=secrets,
    )


def _caches(layout: ProjectLayout, held: dict[str, Value], secrets: dict[str, str], file: Path) -> list[ServiceFound | None]:
    """The object cache, where a drop-in for one is installed."""
    if not (layout.docroot / "wp-content/object-cache.php").is_file():
        return []
    servers = assigned_in(file).get("memcached_servers")
    if isinstance(servers, dict):
        first = next((value for value in _texts(servers)), "127.0.0.1:11211")
        return [service_at("memcached", first, "", said_in=file.name)]
    host, port = (str(held.get(name) or "") for name in ("WP_REDIS_HOST", "WP_REDIS_PORT"))
    socket = str(held.get("WP_REDIS_PATH") or "")
    service = service_at("redis", host or "127.0.0.1", port, said_in=file.name, socket=socket)
    password = held.get("WP_REDIS_PASSWORD")
    return [with_password(service, "WP_REDIS_PASSWORD", password if isinstance(password, str) else "", secrets)]


def _texts(table: dict[str, Value]) -> list[str]:
    found: list[str] = []
    for value in table.values():
        found += _texts(value) if isinstance(value, dict) else [value] if isinstance(value, str) else []
    return found


def _site_in_dumps(root: Path) -> str:
    """The address of the site as a dump beside the root holds it; '' where there is none."""
    for file in (root.parent / f"{root.name}.sql.gz", root.parent / f"{root.name}.sql"):
        if found := _SITE.search(content_of(file, MOST_OF_DUMP)):
            return found[1].decode(errors="replace")
    return ""
