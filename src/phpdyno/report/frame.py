"""The frame of every HTML page: one file that needs no network. plotly.js, styles, data are inside;
its policy forbids any request."""

import base64
import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from phpdyno.model.notices import first_of, rest_of
from phpdyno.report import words
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.plots import Figure

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

Filters = Mapping[str, Callable[..., Any]]
"""What a template may do to a value, by name."""

_SEPARATED = re.compile(r"(?<=[;./_?&])(?!(?<=\d\.)\d)")
"""After each separator, the point of a number excepted."""


def render_frame(
    template: str,
    figures: Mapping[str, Figure],
    *,
    packages: Sequence[str],
    filters: Filters,
    warnings: Sequence[str] = (),
    answer: CommandAnswer | None = None,
    **values: object,
) -> str:
    """A page whose template extends frame.html.j2; `figures` by the id of their place, `filters`
    and `values` as the template uses them. Templates lie in the folder `templates` of one of
    `packages`, or beside the frame. Of the `warnings`, what must be known before all else stands
    below the title, then the `answer`.

    About 5 MB where anything is drawn, nearly all of it plotly.js.
    """
    # Both are slow to import, and most commands never draw.
    from markupsafe import Markup  # noqa: PLC0415
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    environment = _environment(tuple(packages), frozenset(filters.items()))
    # Line ends as the browser sees them, or the policy's hashes would not match.
    ours = _source(environment, "report.js")
    scripts = [_inert_end(text).replace("\r\n", "\n") for text in ((get_plotlyjs(), ours) if figures else ("", ours))]
    return environment.get_template(template).render(
        **values,
        answer=answer,
        notices=first_of(warnings),
        drawn=set(figures),
        figures=Markup(embedded_json(figures)),  # noqa: S704 (escaped by embedded_json)
        styles=Markup(_source(environment, "report.css")),  # noqa: S704 (our own file)
        plotly=Markup(scripts[0]),  # noqa: S704 (plotly's own file)
        script=Markup(scripts[1]),  # noqa: S704 (our own file)
        hashes=" ".join(f"'sha256-{_sha256(text)}'" for text in scripts),
    )


def embedded_json(value: object) -> str:
    """JSON that cannot end the element it stands in, whatever its strings hold; for `<script
    type="application/json">`."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@functools.cache
def _environment(packages: tuple[str, ...], filters: frozenset[tuple[str, Callable[..., Any]]]) -> "Environment":
    """The one of all pages of a kind: each template of an environment is compiled once."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, "phpdyno.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters |= {
        "ms": words.milliseconds,
        "percent": words.percent,
        "duration": words.duration,
        "count": words.count,
        "shortened": words.shortened,
        "breakable": _breakable,
        "rest": rest_of,
        **dict(filters),
    }
    return environment


def _finalized(value: object) -> object:
    """Text from outside without control characters. What is markup already is ours."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else words.visible(value)


def _breakable(text: str) -> "Markup":
    """A name that is broken after its separators first, so that a phone shows `opcache.` and not
    `validate_timestamps=` alone."""
    from markupsafe import Markup, escape  # noqa: PLC0415

    return Markup("<wbr>").join(escape(part) for part in _SEPARATED.split(words.visible(text)))


def _source(environment: "Environment", name: str) -> str:
    loader = environment.loader
    if loader is None:
        raise RuntimeError("the environment was made without a loader")
    return loader.get_source(environment, name)[0]


def _inert_end(script: str) -> str:
    """A script that cannot end its own element: in JavaScript `<\\/script` in a string is the same
    as `</script`."""
    return script.replace("</script", "<\\/script")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
