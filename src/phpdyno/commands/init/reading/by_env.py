"""Frameworks that are configured by variables: Laravel, Symfony, CodeIgniter 4."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from phpdyno.commands.init.found import Configuration, ProjectLayout, ServiceFound
from phpdyno.commands.init.reading.env_file import symfony_variables, variables_of
from phpdyno.commands.init.reading.services import service_at, service_by_url
from phpdyno.model.services.kinds import KINDS_BY_NAME, SERVICE_KINDS

OFF = frozenset({"", "0", "false", "off", "no", "null", "(false)"})
_USES = ("CACHE_STORE", "CACHE_DRIVER", "SESSION_DRIVER", "QUEUE_CONNECTION", "BROADCAST_CONNECTION")
"""Variables of Laravel that say which service something is kept in."""
_DEVELOPMENT = frozenset({"local", "dev", "development", "testing"})
_URLS = ("DATABASE", "REDIS", "DSN", "URL", "MEMCACHED", "CACHE", "SESSION", "MAILER", "LOCK")


def laravel(layout: ProjectLayout) -> Configuration:
    """Laravel: .env, and config:cache where that was done."""
    held = variables_of(layout.root, ".env")
    services = [_laravel_database(held)]
    uses = {held.get(name, "").lower() for name in _USES}
    secrets: dict[str, str] = {}
    if "redis" in uses:
        services.append(redis_of(held, ".env", secrets))
    if "memcached" in uses:
        services.append(service_at("memcached", held.get("MEMCACHED_HOST", "127.0.0.1"), held.get("MEMCACHED_PORT", ""), said_in=".env"))
    if held.get("MAIL_MAILER", held.get("MAIL_DRIVER", "")) == "smtp":
        services.append(service_at("smtp-sink", held.get("MAIL_HOST", "127.0.0.1"), held.get("MAIL_PORT", ""), said_in=".env"))
    debug = held.get("APP_DEBUG", "false").lower() not in OFF or held.get("APP_ENV", "production") in _DEVELOPMENT
    cached = (layout.root / "bootstrap/cache/config.php").is_file()
    why = "bootstrap/cache/config.php keeps what .env said: made again in the copy, it holds for what is measured"
    return Configuration(
        services=tuple(each for each in services if each),
        env={"APP_ENV": "production", "APP_DEBUG": "false"} if debug else {},
        env_why=".env says that this is a development's copy; these win over it",
        prepare=(php_program(), "artisan", "config:cache") if cached else (),
        prepare_why=why if cached else "",
        suggested=() if cached else (php_program(), "artisan", "optimize"),
        host=host_of(held.get("APP_URL", "")),
        host_from="APP_URL in .env",
        remarks=_without_env(layout.root, held),
        secrets=secrets,
    )


def _laravel_database(held: Mapping[str, str]) -> ServiceFound | None:
    url = held.get("DB_URL") or held.get("DATABASE_URL") or ""
    kind = KINDS_BY_NAME.get(held.get("DB_CONNECTION", "").lower())
    if url and (found := service_by_url(url, said_in=".env")):
        return found
    if kind is None or not SERVICE_KINDS[kind].has_databases:
        return None
    named = {"database": held.get("DB_DATABASE", ""), "user": held.get("DB_USERNAME", ""), "socket": held.get("DB_SOCKET", "")}
    return service_at(kind, held.get("DB_HOST", "127.0.0.1"), held.get("DB_PORT", ""), said_in=".env", **named)


def redis_of(held: Mapping[str, str], said_in: str, secrets: dict[str, str]) -> ServiceFound | None:
    """The Redis of Laravel's variables; its password is put into `secrets`."""
    url = held.get("REDIS_URL", "")
    found = service_by_url(url, said_in=said_in) if url else None
    found = found or service_at("redis", held.get("REDIS_HOST", "127.0.0.1"), held.get("REDIS_PORT", ""), said_in=said_in)
    password = held.get("REDIS_PASSWORD", "")
    return with_password(found, "REDIS_PASSWORD", password, secrets) if password.lower() not in OFF else found


def with_password(service: ServiceFound | None, variable: str, password: str, secrets: dict[str, str]) -> ServiceFound | None:
    """A service that is asked with a password, which stands in a variable and nowhere else."""
    if service is None or not password:
        return service
    secrets[variable] = password
    return ServiceFound(service.name, service.kind, service.at, service.said_in, password_of=variable)


def symfony(layout: ProjectLayout) -> Configuration:
    """Symfony: .env and its kin, or what was dumped of them."""
    held, origins = symfony_variables(layout.root)
    secrets: dict[str, str] = {}
    services = services_by_urls(held, origins, secrets)
    development = held.get("APP_ENV", "dev") != "prod" or held.get("APP_DEBUG", "0").lower() not in OFF
    warm = (layout.root / "var/cache/prod").is_dir()
    installed = (layout.root / "vendor/autoload.php").is_file()
    warmup = (php_program(), "bin/console", "cache:warmup") if installed else ()
    return Configuration(
        services=services,
        env={"APP_ENV": "prod", "APP_DEBUG": "0"} if development else {},
        env_why="APP_ENV and APP_DEBUG are a development's in .env; these win over it",
        prepare=() if warm else warmup,
        prepare_why="there is no cache for production yet" if not warm else "",
        suggested=warmup if warm else (),
        host=host_of(held.get("DEFAULT_URI", "")),
        host_from="DEFAULT_URI in .env",
        remarks=() if installed else ("vendor/ is missing: run composer install before you measure",),
        secrets=secrets,
    )


def services_by_urls(held: Mapping[str, str], origins: Mapping[str, str], secrets: dict[str, str]) -> tuple[ServiceFound, ...]:
    """The services of all variables that hold a URL of one; `origins` are their files, .env where
    none is told."""
    found = []
    for name, value in held.items():
        if "://" not in value or not any(part in name.upper() for part in _URLS):
            continue
        service = service_by_url(value, said_in=origins.get(name, ".env"))
        if service is not None and service.kind == "redis":
            try:
                password = urlsplit(value).password or ""
            except ValueError:
                password = ""
            service = with_password(service, f"{name}_PASSWORD", password, secrets)
        if service is not None:
            found.append(service)
    return tuple(found)


def codeigniter(layout: ProjectLayout) -> Configuration:
    """CodeIgniter 4: .env, whose names have dots."""
    held = variables_of(layout.root, ".env")
    kind = KINDS_BY_NAME.get(held.get("database.default.DBDriver", "").lower())
    service = None
    if kind and SERVICE_KINDS[kind].has_databases and held.get("database.default.database"):
        named = {"database": held.get("database.default.database", ""), "user": held.get("database.default.username", "")}
        host, port = held.get("database.default.hostname", "localhost"), held.get("database.default.port", "")
        service = service_at(kind, host, port, said_in=".env", **named)
    development = held.get("CI_ENVIRONMENT", "production") != "production"
    return Configuration(
        services=(service,) if service else (),
        env={"CI_ENVIRONMENT": "production"} if development else {},
        env_why=".env says that this is a development's copy; this wins over it",
        host=host_of(held.get("app.baseURL", "")),
        host_from="app.baseURL in .env",
        remarks=_without_env(layout.root, held),
    )


def host_of(url: str) -> str:
    """The host, with its port, of an http URL; '' for anything else and for a placeholder."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return "" if parts.scheme not in {"http", "https"} or host in {"", "localhost"} else parts.netloc.rpartition("@")[2]
    except ValueError:
        return ""


def php_program() -> str:
    """The command-line PHP as this machine calls it."""
    from phpdyno.apps.built_in.php_cli import php_on_path  # noqa: PLC0415 (not for --help)

    return php_on_path()


def _without_env(root: Path, held: Mapping[str, str]) -> tuple[str, ...]:
    if held or (not (root / ".env.example").is_file() and not (root / "env").is_file()):
        return ()
    return ("there is no .env: write one as the app wants it, or set its variables in [env]",)
