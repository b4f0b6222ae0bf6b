"""Looks at a directory, and writes what it shows as an app.toml."""

import os
import re
import tempfile
from pathlib import Path

from msgspec import structs

from phpdyno.apps.project.limits import DOCROOTS, marker_of
from phpdyno.commands.init.found import AppFound, ServiceFound
from phpdyno.commands.init.reading.configurations import read_configuration
from phpdyno.commands.init.reading.layouts import find_layout
from phpdyno.commands.init.reading.pages import pages_of
from phpdyno.errors import UsageError
from phpdyno.model.workload import Target, Workload


def look_at(folder: Path, *, workload: Workload | None = None, log: str = "") -> AppFound:
    """What a directory shows of its app, with the targets of an access log (`workload`, of the file
    `log`) or of its sitemap. Raises UsageError where no app lies there."""
    layout = find_layout(folder)
    # A root that nothing marks is only what holds all parts: /srv/shop is called shop, usr/share is
    # not.
    named = layout.root if marker_of(layout.root) or layout.docroot.name in DOCROOTS else layout.docroot
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", named.resolve().name).strip("-._")[:64] or "app"
    configuration = read_configuration(layout, name)
    if workload is not None:
        targets, told, host = workload.targets, f"the access log {log}", ""
    else:
        targets, told, host = pages_of(layout.docroot)
        told = f"{told} in the docroot" if told else ""
    if host and not configuration.host:
        configuration = structs.replace(configuration, host=host, host_from=told)
    return AppFound(name, layout, configuration, targets or (Target("/"),), told)


def place_for(found: AppFound, output: Path | None) -> Path:
    """Where its app.toml goes: into the project's root unless another file is named."""
    return Path(os.path.abspath(output)) if output else found.layout.root / "app.toml"  # noqa: PTH100 (links stay)


def missing_dumps(found: AppFound) -> tuple[ServiceFound, ...]:
    """The services whose dump is not there yet."""
    return tuple(each for each in found.configuration.services if each.dump_file and not each.dump_file.is_file())


def write_app_toml(text: str, place: Path, *, force: bool) -> None:
    """Write the file whole or not at all; no link in its place is followed. Raises UsageError:
    there is one already and `force` is not set, it cannot be written."""
    if os.path.lexists(place) and not force:
        raise UsageError("exists already", where=str(place), next_step="look at it, or write it anew with --force")
    try:
        descriptor, name = tempfile.mkstemp(prefix=".app-toml-", dir=place.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                os.fchmod(descriptor, 0o644)
                stream.write(text)
            if force:
                Path(name).replace(place)
            else:
                os.link(name, place)
        finally:
            Path(name).unlink(missing_ok=True)
    except FileExistsError as error:
        raise UsageError("exists already", where=str(place), next_step="look at it, or write it anew with --force") from error
    except OSError as error:
        next_step = "name another place with --output, or see it with --print"
        raise UsageError(f"cannot be written: {error.strerror}", where=str(place), next_step=next_step) from error
