"""`phpdyno init`: an app.toml is written, the app checked, and the next command told."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from phpdyno.commands.check import command as check_command
from phpdyno.commands.common.live import print_line
from phpdyno.commands.common.options import NO_REQUESTS, RequestOptions
from phpdyno.commands.common.requests import own_requests
from phpdyno.commands.common.show import typed_path
from phpdyno.commands.init.found import AppFound
from phpdyno.commands.init.run import look_at, missing_dumps, place_for, write_app_toml
from phpdyno.commands.init.words import said, toml_text
from phpdyno.config.app_toml import load_app_toml

MOST_TARGETS = 20


def run(folder: Path, *, log: RequestOptions, output: Path | None, force: bool, print_only: bool, check: bool) -> int:
    """Write the app.toml of a directory and check it; the check's exit code. Raises UsageError,
    DynoError."""
    errors = Console(stderr=True)
    most = MOST_TARGETS if log.from_log and log.most_targets is None else log.most_targets
    requests = own_requests(replace(log, most_targets=most), errors)
    found = look_at(folder, workload=requests.workload, log=str(log.from_log or ""))
    place = place_for(found, output)
    text = toml_text(found, place)
    if print_only:
        sys.stdout.write(text)
        return 0
    write_app_toml(text, place, force=force)
    load_app_toml(place)
    console = Console()
    print_line(console, said(found, place))
    for remark in found.configuration.remarks:
        print_line(console, f"note: {remark}")
    name = typed_path(place)
    dumps = missing_dumps(found)
    if dumps:
        print_line(console, "next, as the app wants its data:")
        for each in dumps:
            print_line(console, f"  {each.made_by}")
        print_line(console, f"  phpdyno check {name}")
        return 0
    _tell_secrets(console, found)
    status = _checked(found, place) if check else 0
    if status != 0:
        print_line(console, f"next: see what it says, edit {name}, then: phpdyno check {name}")
    elif not check:
        print_line(console, f"next: phpdyno check {name}")
    return status


def _checked(found: AppFound, place: Path) -> int:
    for name, value in found.configuration.secrets.items():
        os.environ.setdefault(name, value)  # as its owner would have to, for this one check
    sys.stdout.flush()
    return check_command.run(str(place), control="", docroot=None, urls=(), requests=NO_REQUESTS, tune=f"phpdyno tune {typed_path(place)}")


def _tell_secrets(console: Console, found: AppFound) -> None:
    for service in found.configuration.services:
        if service.password_of:
            print_line(console, f"export {service.password_of}=… first: {service.said_in} has the value, and no file of ours")
