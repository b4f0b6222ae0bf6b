"""Parts of a view that several commands show: targets, the environment, what an app reached for."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno.model.inside.explained import Explained
from phpdyno.model.plan import Unit


def says(text: str) -> Meta:
    """The description of a field, which the reference page repeats."""
    return Meta(description=text)


Outcome = Literal["finished", "interrupted", "failed", "unfinished"]


class TargetRow(Struct, frozen=True):
    """One request of the workload, and how the arms' answers to it were compared."""

    path: Annotated[str, says("Path with its query, with the method where that is not GET; or the target's own name.")]
    share: Annotated[float, says("Fraction of the requests, 0 to 1.")]
    status: Annotated[int, says("Expected HTTP status.")]
    compared: Annotated[str, says("`body`: the normalised bodies had to agree; `status`: the status only, as the target declares.")]


class EnvironmentRow(Struct, frozen=True):
    """One fact about where it was measured."""

    name: Annotated[str, says("What it is about.")]
    value: Annotated[str, says("The fact, in words.")]


class ReachRow(Struct, frozen=True):
    """One thing that the app reached for."""

    calls: Annotated[int, says("How often, all requests together.")]
    often: Annotated[str, says("The same in words: `once a request`, `12 x`.")]
    what: Annotated[str, says("What, by name, and how it ended.")]
    next_step: Annotated[str, says("What to do about it, or what became of it; empty for an app without a bottle.")]
    snippet: Annotated[str, says("Lines of an app.toml that give the app the service; empty where no kind of service is one.")]
    missing: Annotated[str, says("The server that it wanted an answer of and got none; empty where it was nothing like that.")] = ""


class ReachView(Struct, frozen=True):
    """What fresh workers of the control reached for before anything was measured, outside the app's
    own files, database and services."""

    requests: Annotated[int, says("Requests that were watched; 0 where none could be.")]
    rows: Annotated[tuple[ReachRow, ...], says("Each thing, most frequent first.")]
    unwatched: Annotated[str, says("Why it is not known; empty where it is.")]
    unit: Annotated[Unit, says("What was watched: requests, or operations of a script.")] = "request"


class ExplainedRow(Struct, frozen=True):
    """What `--explain` found out about one treatment beside its control, after everything was
    measured."""

    treatment: Annotated[str, says("Name of the treatment.")]
    found: Annotated[Explained | None, says("Where a request's time goes in the control (first) and in the treatment; null where unknown.")]
    unexplained: Annotated[str, says("Why it is not known; empty where it is.")] = ""
