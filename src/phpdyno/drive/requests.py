"""A workload rendered for one transport: what the load core sends, and what it takes for a valid
answer."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict
from urllib.parse import unquote

from msgspec import Struct

from phpdyno._native import BodyPattern
from phpdyno._native import Target as NativeTarget
from phpdyno.config.requests import filled
from phpdyno.errors import UsageError
from phpdyno.model.plan import Transport
from phpdyno.model.workload import SAFE_METHODS, Target, Workload
from phpdyno.server_files.fastcgi import NO_HEADERS, http_request, names_script, request_params, split_path_info

_UNBOUNDED = 2**62
LENGTH_TOLERANCE = 0.05
LENGTH_SLACK_BYTES = 128


class LengthClass(Struct, frozen=True):
    """Bounds of a valid body's length in bytes."""

    least: int = 0
    most: int = _UNBOUNDED


class ValidAnswer(TypedDict):
    """What a valid answer is like, as the load core wants it."""

    status: int
    min_bytes: int
    max_bytes: int
    body: BodyPattern | None


def length_class(lengths: Sequence[int]) -> LengthClass:
    """Around what the control answered: 5 % and 128 bytes either way, which an error page does not
    fit; never empty unless it was."""
    slack_low = int(min(lengths) * LENGTH_TOLERANCE) + LENGTH_SLACK_BYTES
    slack_high = int(max(lengths) * LENGTH_TOLERANCE) + LENGTH_SLACK_BYTES
    return LengthClass(max(1, min(lengths) - slack_low) if min(lengths) else 0, max(lengths) + slack_high)


def native_targets(
    workload: Workload,
    transport: Transport,
    *,
    docroot: Path,
    front_controller: str,
    lengths: Mapping[str, LengthClass],
    patterns: Mapping[str, BodyPattern] | None = None,
    more_params: Mapping[str, str] = NO_HEADERS,
    nginx: str = "",
) -> list[NativeTarget]:
    """The workload's targets in order; one whose label has no length class accepts any length, and
    without a pattern any body. `more_params` go to php-fpm with each request; `nginx` is the
    version that PHP is told of where no nginx is asked.

    Raises UsageError: a target wants a variable that is not set, or php-fpm does not serve it.
    """
    rendered = []
    for each in workload.targets:
        target = filled(each, os.environ)
        bounds = lengths.get(target.label, LengthClass())
        valid: ValidAnswer = {
            "status": target.status,
            "min_bytes": bounds.least,
            "max_bytes": bounds.most,
            "body": (patterns or {}).get(target.label),
        }
        headers, body = _headers(target, workload), _body(target)
        if transport == "http":
            request = http_request(path=target.path, host=workload.host, method=target.method, headers=headers, body=body)
            head = target.method == "HEAD"
            rendered.append(NativeTarget.http(request, head=head, **valid))
        else:
            script, path_info = script_for(target, docroot=docroot, front_controller=front_controller)
            params = request_params(
                path=target.path,
                host=workload.host,
                docroot=docroot,
                script=script,
                method=target.method,
                headers=headers,
                body=body,
                path_info=path_info,
                scheme=workload.scheme,
                nginx=nginx,
            )
            params += [(name.encode(), value.encode()) for name, value in more_params.items()]
            rendered.append(NativeTarget.fastcgi(params, body or b"", **valid))
    return rendered


def _headers(target: Target, workload: Workload) -> dict[str, str]:
    """The target's own headers win over those that all requests have, whatever their case."""
    own = {name.lower() for name in target.headers}
    common = {"Accept-Encoding": workload.accept_encoding, "X-Forwarded-Proto": workload.scheme if workload.forwarded else ""}
    cookies = "; ".join(f"{name}={value}" for name, value in target.cookies.items())
    told = {name: value for name, value in common.items() if value and name.lower() not in own}
    return {**told, **target.headers, **({"Cookie": cookies} if cookies else {})}


def _body(target: Target) -> bytes | None:
    """None for a method that has none."""
    return None if target.method in SAFE_METHODS else target.body.encode(errors="surrogateescape")


def script_for(target: Target, *, docroot: Path, front_controller: str) -> tuple[str, str]:
    """The script that answers a target and its PATH_INFO, as nginx's try_files decides on the
    decoded path. A path that names a script is that script's, whether there is one or not.

    Raises UsageError for a file that PHP does not serve, for a path that climbs (`..`), which nginx
    would first shorten, and for one that no file system can hold.
    """
    plain = re.sub("//+", "/", unquote(target.path.partition("?")[0], errors="surrogateescape"))
    if ".." in plain.split("/"):
        raise UsageError(f"{target.path} holds a '..' segment", next_step="write the path that it leads to")
    if names_script(plain):
        return split_path_info(plain)
    place = docroot / plain.lstrip("/")
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return f"/{front_controller}", ""
    except OSError as error:
        raise UsageError(f"{target.path} cannot be looked up: {error}") from error
    if place.is_file():
        raise UsageError(f"{target.path} is a static file, which php-fpm does not serve", next_step="measure it with --transport http")
    if plain != "/" and place.is_dir() and (place / front_controller).is_file():
        return f"{plain.rstrip('/')}/{front_controller}", ""
    return f"/{front_controller}", ""
