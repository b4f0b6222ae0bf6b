"""The report as one HTML page that needs no network: plotly.js, styles and data are inside, and its policy forbids any request."""

import base64
import hashlib
import re
from typing import TYPE_CHECKING, get_args

import msgspec

from phpdyno.model.plan import Metric
from phpdyno.report import words
from phpdyno.report.calibrations import forecast, pairs_of
from phpdyno.report.figures import allan, forest, split, time
from phpdyno.report.figures.base import Figure
from phpdyno.report.shape import RunView

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_SEPARATED = re.compile(r"(?<=[;./_?&])")


def render_page(view: RunView) -> str:
    """The whole page as text. About 5 MB, nearly all of it plotly.js."""
    # Both are slow to import, and most commands never draw.
    from markupsafe import Markup  # noqa: PLC0415
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    environment = _environment()
    # Line ends as the browser sees them, or the policy's hashes would not match.
    scripts = [_inert_end(text).replace("\r\n", "\n") for text in (get_plotlyjs(), _source(environment, "report.js"))]
    figures = figures_of(view)
    return environment.get_template("report.html.j2").render(
        view=view,
        rows=words.ordered(view.rows),
        groups=words.by_metric(view.rows),
        calibration_aa={metric: words.aa_of(view, metric) for metric in get_args(Metric)},
        forecasts={each.metric: forecast(each, words.margin_of(view, each.metric), view.budget_s) for each in view.calibrations},
        php=words.PHP_NAME[view.transport],
        per_second=words.PER_SECOND[view.unit],
        blocks={row.name: f"blocks-{number}" for number, row in enumerate(view.rows) if f"blocks-{number}" in figures},
        drawn=set(figures),
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


def figures_of(view: RunView) -> dict[str, Figure]:
    """Every plot that the run has data for, by the id of its place on the page."""
    figures: dict[str, Figure] = {}
    for metric in words.by_metric(view.rows):
        if forest.has_forest(view, metric):
            figures[f"forest-{metric}"] = forest.forest(view, metric)
    if any(row.control is not None and row.treated is not None for row in view.rows):
        figures["split"] = split.cpu_split(words.ordered(view.rows))
    for row in view.calibrations:
        if len(row.allan) > 1:
            figures[f"allan-deviation-{row.metric}"] = allan.allan_deviation(row.allan, view.unit)
            figures[f"allan-cost-{row.metric}"] = allan.allan_cost(row.allan, view.unit)
    for metric in dict.fromkeys(point.metric for point in view.control_costs):
        figures[f"control-{metric}"] = time.control_over_time(view, metric)
    if view.noise:
        figures["steal"] = time.steal_over_time(view)
    if any(point.lag_fraction is not None for point in view.noise):
        figures["lag"] = time.lag_over_time(view)
    measured = {point.treatment for point in view.blocks}
    figures |= {f"blocks-{number}": time.blocks_over_time(view, row) for number, row in enumerate(view.rows) if row.name in measured}
    return figures | {f"carry-{number}": forest.carry_over_plot(check, view.unit) for number, check in enumerate(view.carry_over)}


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("phpdyno.report"),
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
        "rate": words.rate,
        "label": words.label,
        "finding": words.finding,
        "failures": words.failures,
        "failed_proofs": words.failed_proofs,
        "proof_word": words.proof_word,
        "aa_finding": words.aa_finding,
        "count": words.count,
        "pairs_of": pairs_of,
        "shortened": words.shortened,
        "breakable": _breakable,
        "metric": words.metric_words,
        "quotient": words.QUOTIENT.__getitem__,
    }
    return environment


def _finalized(value: object) -> object:
    """Text from outside without control characters. What is markup already is ours."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else words.visible(value)


def _breakable(text: str) -> "Markup":
    """A name that is broken after its separators first, so that a phone shows `opcache.` and not `validate_timestamps=` alone."""
    from markupsafe import Markup, escape  # noqa: PLC0415

    return Markup("<wbr>").join(escape(part) for part in _SEPARATED.split(words.visible(text)))


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
