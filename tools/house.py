"""`python -m tools.house`: rules of the house that no other checker knows; each fault is a line,
and the exit code is 1 with any."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "phpdyno"
UNIT = ROOT / "tests" / "unit"
NO_MIRROR = ("support",)
"""Folders of tests/unit that are about tests themselves."""
MOST_FILES = 15
MOST_POSITIONAL = 6
MOST_LINES = 150
MOST_COLUMNS = 100
HEADLESS = frozenset({"Of", "That", "So", "By", "Whose", "Whom", "With", "For", "To", "On"})
_PATH = re.compile(r"`([\w./-]+/[\w.-]*\.(?:py|php|pyi|toml|md|rs|lua|j2))`")


def faults() -> Iterator[str]:
    """Every fault of the working tree, as `place: what is wrong`."""
    yield from crowded(SOURCE, UNIT, ROOT / "tools", ROOT / "tests" / "support")
    yield from without_mirror(UNIT, SOURCE)
    sources = sorted(SOURCE.rglob("*.py"))
    yield from namesakes(sources)
    yield from declared_twice(sources)
    for path in sources:
        yield from long_signatures(path)
        yield from headless_docstrings(path)
    yield from prose(ROOT / "ARCHITECTURE.md", most_lines=MOST_LINES)
    for page in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        yield from prose(page)


def crowded(*tops: Path) -> Iterator[str]:
    """Folders with more files than one can look over."""
    for folder in (each for top in tops for each in (top, *sorted(top.rglob("*"))) if each.is_dir() and each.name != "__pycache__"):
        files = [each for each in folder.iterdir() if each.is_file() and each.name != "__init__.py" and each.suffix != ".so"]
        if len(files) > MOST_FILES:
            yield f"{_place(folder)}: {len(files)} files are more than {MOST_FILES}; give some of them a folder of their own"


def without_mirror(tests: Path, source: Path) -> Iterator[str]:
    """Folders of unit tests whose name no folder of the source has."""
    for folder in sorted(each for each in tests.rglob("*") if each.is_dir() and each.name != "__pycache__"):
        inside = folder.relative_to(tests)
        if inside.parts[0] not in NO_MIRROR and not (source / inside).is_dir():
            yield f"{_place(folder)}: there is no {_place(source / inside)} that it tests"


def namesakes(sources: Sequence[Path]) -> Iterator[str]:
    """Public classes whose name another one has: one word, one meaning."""
    places: dict[str, list[str]] = {}
    for path in sources:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(_place(path))
    for name, held in sorted(places.items()):
        if len(held) > 1:
            yield f"{held[0]}: class {name} is in {', '.join(held[1:])} as well; one word has one meaning"


def declared_twice(sources: Sequence[Path]) -> Iterator[str]:
    """Values that a request and its plan both declare, with the same name and type: what a plan
    takes over is declared once, in the terms that both are made of."""
    found = [
        (_place(path), node, {name for each in node.bases if (name := ast.unparse(each)).endswith("Terms")})
        for path in sources
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Request", "Plan"))
    ]
    plans = [(node, terms) for _, node, terms in found if node.name.endswith("Plan")]
    for place, request, terms in found:
        for plan, others in plans:
            if request.name.endswith("Request") and terms & others:
                both = sorted(_fields(request) & _fields(plan))
                yield from (f"{place}: {request.name} and {plan.name} both declare {value}" for value in both)


def _fields(node: ast.ClassDef) -> set[str]:
    """The fields that a class declares itself, `name: type` each."""
    return {f"{ast.unparse(each.target)}: {ast.unparse(each.annotation)}" for each in node.body if isinstance(each, ast.AnnAssign)}


def long_signatures(path: Path) -> Iterator[str]:
    """Functions that take, and calls that give, more by position than a reader can tell apart."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
            taken = len(names) - (names[:1] in (["self"], ["cls"]))
            if taken > MOST_POSITIONAL:
                yield f"{_place(path)}:{node.lineno}: {node.name} takes {taken} by position, more than {MOST_POSITIONAL}"
        elif isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL and not isinstance(node.func, ast.Attribute):
            yield f"{_place(path)}:{node.lineno}: {len(node.args)} values are given by position, more than {MOST_POSITIONAL}; name them"


def headless_docstrings(path: Path) -> Iterator[str]:
    """Docstrings whose first sentence hangs on a name that only the code shows."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            words = (ast.get_docstring(node) or "").split(maxsplit=1)
            if words and words[0] in HEADLESS:
                line = getattr(node, "lineno", 1)
                yield f"{_place(path)}:{line}: a docstring begins with {words[0]!r}: its first sentence has to stand alone"


def prose(page: Path, *, most_lines: int | None = None) -> Iterator[str]:
    """Lines that are too long, links in backquotes that lead nowhere, and a page that is too
    long."""
    lines = page.read_text().splitlines()
    if most_lines is not None and len(lines) > most_lines:
        yield f"{_place(page)}: {len(lines)} lines are more than {most_lines}"
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_COLUMNS and "](" not in line and not line.startswith("|"):
            yield f"{_place(page)}:{number}: {len(line)} columns are more than {MOST_COLUMNS}"
        for named in _PATH.findall(line):
            if "*" not in named and not any((top / named).exists() for top in (SOURCE, ROOT)):
                yield f"{_place(page)}:{number}: `{named}` is not there"


def _place(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def main() -> int:
    """Print the faults; the exit code."""
    found = list(faults())
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
