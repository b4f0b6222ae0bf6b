"""Which php.ini settings are in force in the app's own requests: a file is prepended to one request
of each target, after measuring, on an instance that is stopped next."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field, structs

from phpdyno._native import OUTCOMES, Engine
from phpdyno.drive.requests import native_targets
from phpdyno.errors import UsageError
from phpdyno.experiment.common.first_requests import NO_END
from phpdyno.experiment.common.stage import LiveInstance
from phpdyno.knobs.judge import ini_name_of
from phpdyno.model.decoding import NOT_JSON
from phpdyno.model.inside.in_app import SeenInRequest
from phpdyno.model.workload import Workload
from phpdyno.servers.instance import Instance

PREPENDED = "auto_prepend_file"
"""The setting that we need for ourselves."""
MOST_TARGETS = 12
"""The heaviest ones stand for the rest."""
REQUEST_S = 30.0
WRITTEN_S = 5.0
"""How long is waited for the end of a request that has answered already."""


class _Told(Struct, frozen=True):
    begun: dict[str, str]
    ended: dict[str, str] | None
    user_ini: dict[str, str] = field(default_factory=dict)
    takes_gzip: bool = False
    session: bool = False


def asked_in_app(changed: Iterable[str]) -> set[str]:
    """The php.ini names among changed settings that a request can be asked for."""
    return {name for key in changed if (name := ini_name_of(key))} - {PREPENDED, "extension", "zend_extension"}


def look_in_app(instance: LiveInstance, workload: Workload, names: Sequence[str], prepended: str) -> tuple[SeenInRequest, ...]:
    """The settings `names` in a request of each of the heaviest targets; one that gives no answer
    is left out. `prepended` is what the worker has in auto_prepend_file.

    The workers keep our own auto_prepend_file from then on: nothing is measured on it any more.
    Nothing is seen of a script, nor of Apache, where nothing can be prepended to one request alone.
    """
    if not isinstance(instance, Instance) or instance.keeps_workers:
        return ()
    heaviest = sorted(workload.targets, key=lambda target: -target.weight)[:MOST_TARGETS]
    seen = []
    for number, target in enumerate(heaviest):
        told = _asked(instance, structs.replace(workload, targets=(target,)), names, prepended, number)
        if told is not None:
            ended = told.begun if told.ended is None else told.ended
            seen.append(SeenInRequest(target.label, told.begun, ended, told.user_ini, told.takes_gzip, told.session))
    return tuple(seen)


def _asked(instance: Instance, workload: Workload, names: Sequence[str], prepended: str, number: int) -> _Told | None:
    into = instance.directory / "run" / f"in-app-{number}.json"
    stub = instance.directory / f"in-app-{number}.php"
    reader = instance.probe.with_name("in_app.php")
    called = f"(require {_php(str(reader))})({_php(str(into))}, {_php_list(names)}, {_php(prepended)})"
    stub.write_text(f"<?php\n$phpdyno = {called};\nif ($phpdyno !== '') {{\n    require $phpdyno;\n}}\nunset($phpdyno);\n")
    more = {"PHP_ADMIN_VALUE": f'{PREPENDED} = "{stub}"'}
    app = instance.app
    try:
        (target,) = native_targets(
            workload, "fastcgi", docroot=app.docroot, front_controller=app.front_controller, lengths={}, more_params=more
        )
    except UsageError:
        return None  # a static file: PHP does not serve it
    answer = Engine(instance.fastcgi, [target], keep_alive=False, response_timeout_ns=int(REQUEST_S * 1e9)).fetch(0)
    return None if OUTCOMES[answer.outcome] == NO_END else _written(into)


def _written(into: Path) -> _Told | None:
    """What the request wrote; the app may go on after its answer."""
    deadline = time.monotonic() + WRITTEN_S
    told = None
    while True:
        try:
            told = msgspec.json.decode(into.read_bytes(), type=_Told)
        except (FileNotFoundError, *NOT_JSON):
            if not into.exists():
                return None
        if (told is not None and told.ended is not None) or time.monotonic() > deadline:
            return told
        time.sleep(0.005)


def _php(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _php_list(names: Sequence[str]) -> str:
    return "[" + ", ".join(_php(name) for name in names) + "]"
