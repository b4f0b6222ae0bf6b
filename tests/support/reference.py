"""The pages of docs/reference that are made from code. `python -m tests.support.reference` writes them; a test says when that is due."""

import json
from pathlib import Path

from phpdyno.report.checks import ChecksView
from phpdyno.report.document import json_schema, reference, reference_page
from phpdyno.report.study_shape import StudyView
from phpdyno.report.sweep_shape import SweepView

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
STUDY = (
    "`phpdyno study --json` prints one document of the format `phpdyno.study/1`. This page is made from the code. Version 1 may gain",
    "fields; none changes its meaning or unit. Units are in the names: `_ms` milliseconds, `_s` seconds. Ratios are above 1 where the",
    "arm is better than the control, whichever the metric; a ratio is null until it has an interval.",
)
SELFCHECK = (
    "`phpdyno selfcheck --json` prints one document of the format `phpdyno.selfcheck/1`. This page is made from the code.",
    "Version 1 may gain fields; none changes its meaning or unit.",
)
MEASURE = (
    "`phpdyno measure --json` and `phpdyno report RUN --json` of a sweep print one document of the format `phpdyno.measure/1`. This page",
    "is made from the code. Version 1 may gain fields; none changes its meaning or unit. Units are in the names: `_ms` milliseconds, `_s`",
    "seconds, `_kib` KiB; CPU is in milliseconds per valid request. An interval holds for its figure by itself; where there is none, its",
    "ends are null.",
)


def pages() -> dict[str, str]:
    """File name to content."""
    return {
        "json.md": reference(),
        "study-json.md": reference_page("The JSON of a study", STUDY, StudyView),
        "measure-json.md": reference_page("The JSON of a sweep", MEASURE, SweepView),
        "selfcheck-json.md": reference_page("The JSON of a selfcheck", SELFCHECK, ChecksView),
        "compare.schema.json": json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
