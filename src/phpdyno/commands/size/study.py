"""A study of pool sizes: somebody else's table and rule, and the apps of ours that are asked the
same. Data only."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from phpdyno.config.study.kinds import read_kind

KIND = "size"
"""What such a file says in `kind`."""
Positive = Annotated[float, Meta(gt=0)]


class StudiedApp(Struct, frozen=True, forbid_unknown_fields=True):
    """An app of ours: a built-in name, or the path of an app.toml from the study file's directory;
    `about` says what it stands for."""

    app: str
    about: str = ""
    budget_s: Annotated[float, Meta(gt=0)] = 300.0


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Throughput of the reference on one machine: requests per second by pool and by requests in
    flight."""

    machine: str
    per_s: dict[str, dict[str, Positive]]


class Claim(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that the reference concludes, and where on the page the answer of ours stands, in
    words."""

    said: str
    answer: str


class SizeReference(Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody else's figures: who measured them, how, and what was concluded."""

    source: str
    setup: dict[str, str] = field(default_factory=dict)
    table: tuple[Table, ...] = ()
    claim: tuple[Claim, ...] = ()


class SizeStudy(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole study."""

    kind: str
    title: str
    app: Annotated[dict[str, StudiedApp], Meta(min_length=1)]
    reference: SizeReference
    about: str = ""
    seed: Annotated[int, Meta(ge=0)] = 1


_KEYS = {
    "": SizeStudy.__struct_fields__,
    "app": StudiedApp.__struct_fields__,
    "reference": SizeReference.__struct_fields__,
    "reference.table": Table.__struct_fields__,
    "reference.claim": Claim.__struct_fields__,
}


def load_size_study(path: Path) -> SizeStudy:
    """Read and check a file; paths of apps become absolute. Raises UsageError naming the file and
    the key."""
    study = read_kind(path, KIND, SizeStudy, called="pool sizes", keys=_KEYS)
    apps = {name: _placed(each, path.absolute().parent) for name, each in study.app.items()}
    return msgspec.structs.replace(study, app=apps)


def _placed(app: StudiedApp, folder: Path) -> StudiedApp:
    if not app.app.endswith(".toml"):
        return app
    return msgspec.structs.replace(app, app=str((folder / app.app).resolve()))
