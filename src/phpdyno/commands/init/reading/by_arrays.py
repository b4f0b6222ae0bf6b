"""Frameworks whose configuration is an array in PHP: Drupal, Magento 2, Yii 2; and apps without
one."""

import re
from pathlib import Path

from msgspec import structs

from phpdyno.apps.project.php_text import tokens_of
from phpdyno.apps.project.php_values import Value, assigned_in, at, defined_in, returned_by, text_of, word
from phpdyno.commands.init.found import Configuration, ProjectLayout, ServiceFound
from phpdyno.commands.init.reading.by_env import services_by_urls, with_password
from phpdyno.commands.init.reading.env_file import variables_of
from phpdyno.commands.init.reading.services import USER, service_at, service_by_url
from phpdyno.model.services.kinds import KINDS_BY_NAME, SERVICE_KINDS

_PLAIN_HOST = re.compile(r"\^?((?:[A-Za-z0-9-]|\\\.)+)\$?")
_DSN = re.compile(r"(?:mysqli?|pgsql|postgres(?:ql)?|redis|memcached)(?:://\S+|:[a-z_]+=.+)")
_CONFIGS = ("*.php", "config/*.php", "config/*.inc.php", "conf/*.php", "includes/config*.php", "inc/config*.php", "app/config*.php")


def drupal(layout: ProjectLayout) -> Configuration:
    """Drupal: sites/default/settings.php, and settings.local.php after it."""
    folder = layout.docroot / "sites/default"
    held: dict[str, Value] = {}
    for name in ("settings.php", "settings.local.php"):
        held |= {key: value for key, value in assigned_in(folder / name).items() if value not in ({}, None)}
    database = at(held.get("databases"), "default", "default")
    services = [_drupal_database(database)]
    settings = held.get("settings")
    secrets: dict[str, str] = {}
    if host := word(settings, "redis.connection", "host"):
        service = service_at("redis", host, word(settings, "redis.connection", "port"), said_in="settings.php")
        services.append(with_password(service, "DRUPAL_REDIS_PASSWORD", word(settings, "redis.connection", "password"), secrets))
    if isinstance(servers := at(settings, "memcache", "servers"), dict):
        services += [service_at("memcached", each, "", said_in="settings.php") for each in servers if each and not each.isdecimal()]
    host, host_from = _trusted_host(settings), "trusted_host_patterns in settings.php"
    remarks = [] if word(database, "driver") else ["settings.php names no database that can be read: write its [service] yourself"]
    if (layout.root / "vendor/bin/drush").is_file():
        remarks.append("after a change of code: prepare = ['php', 'vendor/bin/drush', 'cache:rebuild']".replace("'", '"'))
    return Configuration(
        services=tuple(each for each in services if each), host=host, host_from=host_from, remarks=tuple(remarks), secrets=secrets
    )


def _drupal_database(database: Value) -> ServiceFound | None:
    kind = KINDS_BY_NAME.get(word(database, "driver"))
    if kind is None or not SERVICE_KINDS[kind].has_databases:
        return None
    named = {"database": word(database, "database"), "user": word(database, "username"), "socket": word(database, "unix_socket")}
    return service_at(kind, word(database, "host"), word(database, "port"), said_in="settings.php", **named)


def _trusted_host(settings: Value) -> str:
    patterns = at(settings, "trusted_host_patterns")
    for each in patterns.values() if isinstance(patterns, dict) else ():
        if isinstance(each, str) and (match := _PLAIN_HOST.fullmatch(each)):
            return match[1].replace("\\.", ".")
    return ""


def magento(layout: ProjectLayout) -> Configuration:
    """Magento 2: app/etc/env.php."""
    held: Value = returned_by(layout.root / "app/etc/env.php")
    database = at(held, "db", "connection", "default")
    secrets: dict[str, str] = {}
    services: list[ServiceFound | None] = []
    if word(database, "host"):
        named = {"database": word(database, "dbname"), "user": word(database, "username")}
        services.append(service_at("mariadb", word(database, "host"), word(database, "port"), said_in="app/etc/env.php", **named))
    places = [("session", "redis", "host"), ("cache", "frontend", "default", "backend_options", "server")]
    places.append(("cache", "frontend", "page_cache", "backend_options", "server"))
    for *above, key in places:
        if host := word(held, *above, key):
            service = service_at("redis", host, word(held, *above, "port"), said_in="app/etc/env.php")
            services.append(with_password(service, "MAGENTO_REDIS_PASSWORD", word(held, *above, "password"), secrets))
    remarks = ['Magento wants its search: let it through with network = ["127.0.0.1:9200"] where pages ask for it']
    remarks += ["app/etc/env.php is missing: Magento is not installed here"] if not held else []
    if word(held, "MAGE_MODE") not in {"production", ""}:
        remarks.append(f'MAGE_MODE is {word(held, "MAGE_MODE")}: measure production with [env] MAGE_MODE = "production"')
    return Configuration(services=tuple(each for each in services if each), remarks=tuple(remarks), secrets=secrets)


def yii(layout: ProjectLayout) -> Configuration:
    """Yii 2: config/db.php of the basic template, common/config/main-local.php of the advanced."""
    database: Value = returned_by(layout.root / "config/db.php")
    said_in = "config/db.php"
    for file in ("common/config/main.php", "common/config/main-local.php", "config/web.php"):
        found = at(returned_by(layout.root / file), "components", "db")
        if isinstance(found, dict) and word(found, "dsn"):
            database, said_in = found, file
    service = service_by_url(word(database, "dsn"), said_in=said_in)
    if service is not None and not service.user:
        user = word(database, "username")
        service = structs.replace(service, user=user if USER.fullmatch(user) else "")
    front = text_of(layout.docroot / layout.front)
    debug = "YII_DEBUG" in front and str(defined_in(layout.docroot / layout.front).get("YII_DEBUG", "false")).lower() == "true"
    name = f"{layout.docroot.name}/{layout.front}"
    remarks = (f"{name} defines YII_DEBUG as true: pages are slower, and other ones, than in production",) if debug else ()
    return Configuration(services=(service,) if service else (), remarks=remarks)


def plain(layout: ProjectLayout) -> Configuration:
    """An app without a framework: URLs of services in .env, and in strings of its configuration."""
    secrets: dict[str, str] = {}
    held = variables_of(layout.root, ".env", ".env.local")
    services = list(services_by_urls(held, {}, secrets))
    for place in dict.fromkeys((layout.root, layout.docroot)):
        for file in _configs(place):
            services += _named_in(file, str(file.relative_to(layout.root)))
    named = {"database": held.get("DB_DATABASE") or held.get("DB_NAME", ""), "user": held.get("DB_USERNAME") or held.get("DB_USER", "")}
    kind = KINDS_BY_NAME.get((held.get("DB_CONNECTION") or held.get("DB_DRIVER") or "mysql").lower())
    if not services and held.get("DB_HOST") and kind:
        service = service_at(kind, held["DB_HOST"], held.get("DB_PORT", ""), said_in=".env", **named)
        services += [service] if service else []
    remarks = () if services else ("no service was found in its configuration: write a [service] for each that check names",)
    return Configuration(services=tuple(services), remarks=remarks, secrets=secrets)


def _named_in(file: Path, said_in: str) -> list[ServiceFound]:
    """The services whose URLs, or names for PDO, are strings in a PHP file."""
    strings = [token.text for token in tokens_of(text_of(file)) if token.kind == "string" and _DSN.fullmatch(token.text)]
    return [found for text in strings if (found := service_by_url(text, said_in=said_in))]


def _configs(folder: Path) -> list[Path]:
    found = [file for pattern in _CONFIGS for file in sorted(folder.glob(pattern)) if file.is_file()]
    return [file for file in dict.fromkeys(found) if not re.search(r"sample|example|dist|default", file.name)][:60]
