"""An app.toml as text with comments, and what `phpdyno init` says of it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from phpdyno.commands.init.found import AppFound, ServiceFound
from phpdyno.model.services.kinds import SERVICE_KINDS
from phpdyno.model.workload import Target
from phpdyno.report.words import visible

_UPLOADS = {
    "WordPress": "wp-content/uploads",
    "WordPress (Bedrock)": "app/uploads",
    "Drupal": "sites/default/files",
    "Magento 2": "media",
    "Laravel": "storage",
}
"""Where visitors' files lie, below the docroot."""


def toml_text(found: AppFound, place: Path) -> str:
    """The app.toml of what was found, to be written to `place`.

    What the app's files say stands in comments as well: no line of it may become a line of its own.
    """
    return "".join(f"{visible(line)}\n" for line in _lines(found, place))


def _lines(found: AppFound, place: Path) -> Iterator[str]:
    layout, configuration = found.layout, found.configuration
    yield f"# {layout.framework}, as phpdyno init found it. What phpdyno measures is a copy: nothing of yours is written to."
    yield "# All keys: docs/reference/app-toml.md"
    yield from (f"# {each}" for each in configuration.remarks)
    yield f"name = {_text(found.name)}"
    yield f"root = {_text(_from(place, layout.root))}  # what is copied"
    yield f"docroot = {_text(_from(place, layout.docroot))}"
    if layout.front != "index.php":
        yield f"front_controller = {_text(layout.front)}"
    if configuration.host:
        yield f"host = {_text(configuration.host)}  # {configuration.host_from}"
    if configuration.prepare:
        yield f"prepare = {_list(configuration.prepare)}  # {configuration.prepare_why}"
    elif configuration.suggested:
        yield f"# prepare = {_list(configuration.suggested)}  # as your deployment does it, run once in the copy"
    uploads = os.path.normpath(f"{os.path.relpath(layout.docroot, layout.root)}/{_UPLOADS.get(layout.framework, 'uploads')}")
    yield f"# exclude = {_list((uploads,))}  # of a directory what is in it: large ones that no target reads"
    if configuration.env:
        yield from ("", f"[env]  # {configuration.env_why}")
        yield from (f"{name} = {_text(value)}" for name, value in configuration.env.items())
    for service in configuration.services:
        yield from ("", *_service(service, place))
    yield from _targets(found)


def _service(service: ServiceFound, place: Path) -> Iterator[str]:
    yield f"[service.{service.name}]  # a private {SERVICE_KINDS[service.kind].title} at the address that {service.said_in} has"
    yield f"kind = {_text(service.kind)}"
    yield f"at = {_list(service.at)}"
    if service.database:
        yield f"database = {_text(service.database)}"
    if service.kind == "postgresql" and service.user:
        yield f"users = {_list((service.user,))}"
    if service.password_of:
        why = f"export {service.password_of}=… before phpdyno: no secret is written here"
        yield f"password = {_text(f'{{env.{service.password_of}}}')}  # {why}"
    if service.dump_file:
        yield f"# {service.made_by}"
        yield f"dump = {_text(_from(place, service.dump_file))}"
    elif SERVICE_KINDS[service.kind].has_databases:
        yield '# dump = "dump.sql.gz"'


def _targets(found: AppFound) -> Iterator[str]:
    yield ""
    if found.targets_from:
        yield f"# from {found.targets_from}"
    else:
        yield "# Add the pages that matter, with their weights; an access log knows them: phpdyno init --from-log FILE --force"
    for target in found.targets:
        yield from ("[[target]]", *_target(target), "")


def _target(target: Target) -> Iterator[str]:
    yield f"path = {_text(target.path)}"
    if target.weight != 1:
        yield f"weight = {target.weight:g}"
    if target.status != 200:
        yield f"status = {target.status}"
    if target.answers != "body":
        yield f"answers = {_text(target.answers)}"


def said(found: AppFound, place: Path) -> str:
    """One line that says what was recognised and where it stands now."""
    layout = found.layout
    inside = os.path.relpath(layout.docroot, layout.root)
    parts = [layout.framework, f"root {layout.root}" if inside == "." else f"root {layout.root}, docroot {inside}"]
    services = found.configuration.services
    parts += [" ".join(filter(None, (SERVICE_KINDS[each.kind].title, each.database, "at", each.at[0]))) for each in services]
    count = len(found.targets)
    parts.append(f"{count} target{'' if count == 1 else 's'}" + (f" of {found.targets_from}" if found.targets_from else ""))
    return f"{place}: {', '.join(parts)}"


def _from(place: Path, path: Path) -> str:
    return os.path.relpath(path, place.parent)


def _list(words: tuple[str, ...]) -> str:
    return "[" + ", ".join(map(_text, words)) + "]"


def _text(value: str) -> str:
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in json.dumps(value, ensure_ascii=False))
