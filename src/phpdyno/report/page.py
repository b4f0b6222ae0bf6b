"""The report as one HTML page that needs no network: plotly.js, styles and data are inside, and its policy forbids any request."""

import base64
import hashlib
from typing import TYPE_CHECKING

import msgspec

from phpdyno.report import words
from phpdyno.report.figures import Figure, blocks_over_time, control_over_time, forest
from phpdyno.report.shape import RunView

if TYPE_CHECKING:
    from jinja2 import Environment


def render_page(view: RunView) -> str:
    """The whole page as text. About 5 MB, nearly all of it plotly.js."""
    # Both are slow to import, and most commands never draw.
    from markupsafe import Markup  # noqa: PLC0415
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    environment = _environment()
    # Line ends as the browser sees them, or the policy's hashes would not match.
    scripts = [_inert_end(text).replace("\r\n", "\n") for text in (get_plotlyjs(), _source(environment, "report.js"))]
    rows = sorted(view.rows, key=lambda row: not row.is_aa)
    figures = _figures(view)
    return environment.get_template("report.html.j2").render(
        view=view,
        rows=rows,
        measured=[row for row in rows if row.control is not None and row.treated is not None],
        plots={row.name: f"blocks-{number}" for number, row in enumerate(view.rows) if f"blocks-{number}" in figures},
        has_effects="forest" in figures,
        figures=Markup(embedded_json(figures)),  # noqa: S704 (escaped by embedded_json)
        styles=Markup(_source(environment, "report.css")),  # noqa: S704 (our own file)
        plotly=Markup(scripts[0]),  # noqa: S704 (plotly's own file)
        script=Markup(scripts[1]),  # noqa: S704 (our own file)
        hashes=" ".join(f"'sha256-{_sha256(text)}'" for text in scripts),
    )


def embedded_json(value: object) -> str:
    """JSON that cannot end the element it stands in, whatever its strings hold; for `<script type="application/json">`."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _figures(view: RunView) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    if any(row.ratio is not None for row in view.rows):
        figures["forest"] = forest(view)
    if view.control_costs:
        figures["control"] = control_over_time(view)
    measured = {point.treatment for point in view.blocks}
    for number, row in enumerate(view.rows):
        if row.name in measured:
            figures[f"blocks-{number}"] = blocks_over_time(view, row)
    return figures


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("phpdyno.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ms": words.milliseconds,
        "percent": words.percent,
        "duration": words.duration,
        "label": words.label,
        "finding": words.finding,
        "failed_proofs": words.failed_proofs,
        "proof_word": words.proof_word,
    }
    return environment


def _source(environment: "Environment", name: str) -> str:
    loader = environment.loader
    if loader is None:
        raise RuntimeError("the environment was made without a loader")
    return loader.get_source(environment, name)[0]


def _inert_end(script: str) -> str:
    """A script that cannot end its own element: in JavaScript `<\\/script` in a string is the same as `</script`."""
    return script.replace("</script", "<\\/script")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
