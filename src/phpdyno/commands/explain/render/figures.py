"""What a whole is made of, as one stacked bar for each arm, all on one scale."""

from typing import Any

from phpdyno.commands.explain.words import UNIT_WORDS, amount, whole_of
from phpdyno.model.inside.explained import Section
from phpdyno.report.plots import LINE_PX, Figure, caption, hover, inert, layout, note

_KNOWN = {
    "PHP": "var(--php)",
    "web server": "var(--nginx)",
    "database": "var(--database)",
    "on a CPU": "var(--php)",
    "waiting for a core": "var(--other)",
    "web server (request in, answer out)": "var(--nginx)",
}
_COLORS = ("var(--services)", "var(--inconclusive)", "var(--accent)", "var(--regressed)", "var(--improved)", "var(--invalid)")
_BAR_PX = 22
_GAP_PX = 12


def parts_of(section: Section, arms: tuple[str, ...]) -> Figure | None:
    """The section's parts; None where it has no whole that they add up to. Heights in px are the y
    axis."""
    whole = whole_of(section)
    parts = [each for each in section.figures if each.part and any(reading and reading.value for reading in each.arms)]
    if whole is None or len(parts) < 2:
        return None
    letters = ("",) if len(arms) == 1 else ("A", "B")
    notes: list[dict[str, Any]] = []
    middles: list[float] = []
    top = 0.0
    for place, letter in enumerate(letters):
        reading = whole.arms[place]
        said = f"{letter}: " if letter else ""
        notes.append(note(0, top, [f"{said}{amount(reading.value, whole.unit) if reading else '–'} {UNIT_WORDS[whole.unit]}"]))
        top += LINE_PX + 4
        middles.append(top + _BAR_PX / 2)
        top += _BAR_PX + _GAP_PX
    legend = 19 * len(parts) + 8
    made = layout(top + 42 + legend, left=12)
    made |= {"annotations": notes, "barmode": "stack", "bargap": 0, "showlegend": True}
    made["legend"] = {"orientation": "v", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"}
    made["margin"] |= {"t": legend}
    made["xaxis"] |= {"title": caption(UNIT_WORDS[whole.unit]), "rangemode": "tozero", "nticks": 6}
    made["yaxis"] |= {"range": [top, 0], "visible": False}
    rest = iter(_COLORS * len(parts))
    return {"data": [_trace(each, middles, letters, _color(each.name, rest)) for each in parts], "layout": made}


def _color(name: str, rest: Any) -> str:
    return _KNOWN.get(name) or ("var(--database)" if name.startswith("database") else next(rest))


def _trace(figure: Any, middles: list[float], letters: tuple[str, ...], color: str) -> dict[str, Any]:
    values = [reading.value if reading else 0.0 for reading in figure.arms]
    unit = UNIT_WORDS[figure.unit]
    return {
        "type": "bar",
        "orientation": "h",
        "name": inert(figure.name),
        "y": middles,
        "x": values,
        "width": _BAR_PX,
        "text": [
            hover(f"{letter + ': ' if letter else ''}{figure.name} {amount(value, figure.unit)} {unit}")
            for letter, value in zip(letters, values, strict=True)
        ],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": color, "line": {"width": 0}},
    }
