"""The pages of docs/reference that are made from code. `python -m tests.support.reference` writes them; a test says when that is due."""

import json
from pathlib import Path

from phpdyno.report.document import json_schema, reference

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def pages() -> dict[str, str]:
    """File name to content."""
    return {"json.md": reference(), "compare.schema.json": json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
