"""A workload file: targets with their weights, written as in app.toml, and how requests arrive.
Written and read here."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from phpdyno.config.app_toml import check_host, check_target, check_targets, parse_host
from phpdyno.config.requests import TARGET_HINTS, refuse_variables
from phpdyno.config.toml_faults import toml_fault
from phpdyno.config.trusted import steered_by
from phpdyno.config.values import read_toml_of
from phpdyno.errors import UsageError
from phpdyno.model.arrival import Arrival
from phpdyno.model.workload import Target, Workload

_Positive = Annotated[float, Meta(gt=0, le=1e9)]
_NotNegative = Annotated[float, Meta(ge=0, le=1e12)]
_Count = Annotated[int, Meta(ge=1, le=10**12)]
_HINTS = {
    **TARGET_HINTS,
    "path": 'add path = "/"',
    "rate_per_s": "add rate_per_s = 10.0, requests per second in the mean",
    "span_s": "add span_s = 3600, the seconds that the traffic was seen for",
    "peak_per_s": "add peak_per_s = 20, requests in the busiest second",
}


class WorkloadFile(Struct, frozen=True):
    """What a workload file holds; `arrival` is None when it says nothing of arrivals."""

    workload: Workload
    arrival: Arrival | None = None


class _Arrival(Struct, frozen=True, forbid_unknown_fields=True):
    rate_per_s: _Positive
    span_s: _Count
    peak_per_s: _Count
    dispersion: _NotNegative | None = None
    minute_dispersion: _NotNegative | None = None
    gap_cv2: _NotNegative | None = None
    busiest_minute_per_s: _Positive | None = None


class _Raw(Struct, frozen=True, forbid_unknown_fields=True):
    target: tuple[Target, ...]
    host: str = "localhost"
    arrival: _Arrival | None = None


_KEYS = {"": _Raw.__struct_fields__, "target": Target.__struct_fields__, "arrival": _Arrival.__struct_fields__}


def load_workload(path: Path) -> WorkloadFile:
    """Read and check a workload file. Raises UsageError naming the file and the key, with the
    nearest valid key for an unknown one."""
    path = path.absolute()
    table, opened = read_toml_of(path)
    try:
        raw = msgspec.convert(table, _Raw)
    except msgspec.ValidationError as error:
        raise toml_fault(error, path, keys=_KEYS, hints=_HINTS) from error
    host, scheme = parse_host(raw.host, where=f"{path}: host")
    check_targets(raw.target, path)
    refuse_variables(raw.target, steered_by(path, opened), where=str(path))
    arrival = Arrival(**msgspec.structs.asdict(raw.arrival)) if raw.arrival else None
    return WorkloadFile(Workload(raw.target, host, scheme or "http"), arrival)


def workload_text(file: WorkloadFile, *, remarks: Sequence[str] = ()) -> str:
    """The file's text; `remarks` become comments at its top. Raises UsageError for a target or host
    that could not be read back."""
    check_host(file.workload.host, where="host")
    for target in file.workload.targets:
        check_target(target, where=target.path)
    lines = [f"# {line}".rstrip() for remark in remarks for line in _printable(remark)]
    host = ("https://" if file.workload.scheme == "https" else "") + file.workload.host
    lines += ["", f"host = {json.dumps(host)}"] if lines else [f"host = {json.dumps(host)}"]
    if file.arrival:
        values = {key: value for key, value in msgspec.structs.asdict(file.arrival).items() if value is not None}
        lines += ["", "[arrival]", *(f"{key} = {_number(value)}" for key, value in values.items())]
    for target in file.workload.targets:
        lines += ["", "[[target]]", f"path = {json.dumps(target.path)}", f"weight = {_number(target.weight)}", f"status = {target.status}"]
        lines += _rest_of(target)
    return "\n".join(lines) + "\n"


def save_workload(path: Path, file: WorkloadFile, *, remarks: Sequence[str] = ()) -> None:
    """Write a workload file that `load_workload` reads. Raises UsageError: the file exists (it is
    not overwritten), cannot be written."""
    text = workload_text(file, remarks=remarks)
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as error:
        raise UsageError("exists already", where=str(path), next_step="give another name, or remove it first") from error
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UsageError(f"{str(path)!r} cannot be the name of a file") from error


def _rest_of(target: Target) -> list[str]:
    """Lines for what a target does not leave at its default."""
    lines = [f"answers = {json.dumps(target.answers)}"] if target.answers != "body" else []
    lines += [f"method = {json.dumps(target.method)}"] if target.method != "GET" else []
    lines += ["writes = true"] if target.writes else []
    lines += [f"name = {_text(target.name)}"] if target.name else []
    for key, table in (("headers", target.headers), ("cookies", target.cookies)):
        pairs = ", ".join(f"{_text(name)} = {_text(value)}" for name, value in table.items())
        lines += [f"{key} = {{ {pairs} }}"] if table else []
    return lines + ([f"body = {_text(target.body)}"] if target.body else [])


def _text(value: str) -> str:
    """A basic string of TOML: JSON's, but with every character beyond ASCII as it is (a surrogate
    pair is no character), and no DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) < 1e15):
        return str(int(value))
    return repr(value)


def _printable(remark: str) -> list[str]:
    return ["".join(c if c.isprintable() else "�" for c in line) for line in remark.splitlines()]
