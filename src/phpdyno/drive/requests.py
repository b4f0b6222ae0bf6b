"""A workload rendered for one transport: what the load core sends, and what it takes for a valid answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from phpdyno._native import Target as NativeTarget
from phpdyno.errors import UsageError
from phpdyno.model.plan import Transport
from phpdyno.model.workload import Target, Workload
from phpdyno.render.fastcgi import http_request, request_params

_UNBOUNDED = 2**62
LENGTH_TOLERANCE = 0.05
LENGTH_SLACK_BYTES = 128


class LengthClass(Struct, frozen=True):
    """Bounds of a valid body's length in bytes."""

    least: int = 0
    most: int = _UNBOUNDED


def length_class(lengths: Sequence[int]) -> LengthClass:
    """Around what the control answered: 5 % and 128 bytes either way, which an error page does not fit; never empty unless it was."""
    slack_low = int(min(lengths) * LENGTH_TOLERANCE) + LENGTH_SLACK_BYTES
    slack_high = int(max(lengths) * LENGTH_TOLERANCE) + LENGTH_SLACK_BYTES
    return LengthClass(max(1, min(lengths) - slack_low) if min(lengths) else 0, max(lengths) + slack_high)


def native_targets(
    workload: Workload, transport: Transport, *, docroot: Path, front_controller: str, lengths: Mapping[str, LengthClass]
) -> list[NativeTarget]:
    """The workload's targets in order; one without a length class accepts any length."""
    rendered = []
    for target in workload.targets:
        bounds = lengths.get(target.path, LengthClass())
        if transport == "http":
            request = http_request(path=target.path, host=workload.host)
            rendered.append(NativeTarget.http(request, status=target.status, min_bytes=bounds.least, max_bytes=bounds.most))
        else:
            script = script_for(target, docroot=docroot, front_controller=front_controller)
            params = request_params(path=target.path, host=workload.host, docroot=docroot, script=script)
            rendered.append(NativeTarget.fastcgi(params, status=target.status, min_bytes=bounds.least, max_bytes=bounds.most))
    return rendered


def script_for(target: Target, *, docroot: Path, front_controller: str) -> str:
    """The script that answers a target, as nginx's try_files decides on the decoded path.

    Raises UsageError for a file that PHP does not serve, for a path that climbs (`..`), which nginx would first shorten, and for one that
    no file system can hold.
    """
    plain = unquote(target.path.partition("?")[0])
    if ".." in plain.split("/"):
        raise UsageError(f"{target.path} holds a '..' segment", next_step="write the path that it leads to")
    place = docroot / plain.lstrip("/")
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return f"/{front_controller}"
    except OSError as error:
        raise UsageError(f"{target.path} cannot be looked up: {error}") from error
    if place.is_file():
        if place.suffix != ".php":
            raise UsageError(f"{target.path} is a static file, which php-fpm does not serve", next_step="measure it with --transport http")
        return plain
    if plain != "/" and place.is_dir() and (place / front_controller).is_file():
        return f"{plain.rstrip('/')}/{front_controller}"
    return f"/{front_controller}"
