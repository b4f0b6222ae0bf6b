"""The configuration of an app, read as its framework keeps it."""

from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from phpdyno.commands.init.found import Configuration, ProjectLayout, ServiceFound
from phpdyno.commands.init.reading import by_arrays, by_env, wordpress
from phpdyno.commands.init.reading.services import dump_command
from phpdyno.config.values import check_env_name
from phpdyno.errors import UsageError
from phpdyno.model.services.kinds import SERVICE_KINDS

READERS: dict[str, Callable[[ProjectLayout], Configuration]] = {
    "WordPress": wordpress.configuration_of,
    "WordPress (Bedrock)": wordpress.bedrock_configuration_of,
    "Laravel": by_env.laravel,
    "Symfony": by_env.symfony,
    "CodeIgniter 4": by_env.codeigniter,
    "Drupal": by_arrays.drupal,
    "Magento 2": by_arrays.magento,
    "Yii 2": by_arrays.yii,
    "plain PHP": by_arrays.plain,
}


def read_configuration(layout: ProjectLayout, name: str) -> Configuration:
    """What the app's own files say, each service once and by a name of its own, with the command
    that dumps what is in it to a file beside the root."""
    found = READERS[layout.framework](layout)
    services: dict[tuple[str, tuple[str, ...]], ServiceFound] = {}
    for each in found.services:
        known = services.setdefault((each.kind, each.at), each)
        if each.database and not known.database:
            services[each.kind, each.at] = each
    named: list[ServiceFound] = []
    for each in services.values():
        same = sum(other.name.rstrip("0123456789") == each.name for other in named)
        own = structs.replace(each, name=f"{each.name}{same + 1}") if same else each
        named.append(_with_dump(own, f"{name}-{own.name}" if same else name, layout.root.parent))
    for variable in (*found.secrets, *found.env):
        try:
            check_env_name(variable, where=variable)
        except UsageError:
            return structs.replace(found, services=tuple(named), env={}, secrets={})
    return structs.replace(found, services=tuple(named))


def _with_dump(service: ServiceFound, name: str, folder: Path) -> ServiceFound:
    if not SERVICE_KINDS[service.kind].has_databases or not service.database:
        return service
    file = folder / f"{name}.sql.gz"
    return structs.replace(service, dump_file=file, made_by=dump_command(service, str(file)))
