"""What a check found, as data; docs/reference/commands.md says what it means."""

from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.model.inside.reach import Reached


class TargetFound(Struct, frozen=True, kw_only=True):
    """One target. Where it cannot be measured, `problem` says why and what was not seen is null."""

    label: Annotated[str, Meta(description="The target.")]
    status: Annotated[int | None, Meta(description="HTTP status of the last answer.")] = None
    body_bytes: Annotated[int | None, Meta(description="Bytes of the body of the last answer, uncompressed.")] = None
    time_ms: Annotated[float | None, Meta(description="Median time of an answer, the first left out, in milliseconds.")] = None
    php_ms: Annotated[float | None, Meta(description="Median CPU time of PHP for it, the first left out, in milliseconds.")] = None
    moving: Annotated[float | None, Meta(description="Share of the body that differs between answers, 0 to 1.")] = None
    warnings: Annotated[tuple[str, ...], Meta(description="What PHP said meanwhile, each once.")] = ()
    problem: Annotated[str, Meta(description="Why it cannot be measured; empty where it can.")] = ""


class CheckFound(Struct, frozen=True, kw_only=True):
    """All of a check."""

    app: Annotated[str, Meta(description="Name of the app.")]
    bottle: Annotated[str, Meta(description="Why the app does not run in a bottle; empty where it does.")]
    targets: Annotated[tuple[TargetFound, ...], Meta(description="Each target.")]
    remark: Annotated[str, Meta(description="What is strange about the targets together; empty for nothing.")] = ""
    notices: Annotated[tuple[str, ...], Meta(description="What was copied where the app does not say.")] = ()
    reached: Annotated[Reached | None, Meta(description="What the app reached for; null where it could not be watched.")] = None
    unwatched: Annotated[str, Meta(description="Why it could not be watched.")] = ""
    let_through: Annotated[tuple[str, ...], Meta(description="Peers of the host's network that the app may reach.")] = ()
    not_reached: Annotated[tuple[str, ...], Meta(description="Those of them that could not be reached, each with the reason.")] = ()

    @property
    def measurable(self) -> bool:
        """Whether every target can be measured."""
        return not any(target.problem for target in self.targets)
