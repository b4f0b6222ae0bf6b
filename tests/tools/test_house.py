"""Rules of the house that `make lint` checks: each is broken on purpose; lint itself looks at the
tree."""

from pathlib import Path

import pytest

from tools import house


def test_a_crowded_folder(tmp_path: Path) -> None:
    for number in range(house.MOST_FILES):
        (tmp_path / f"file{number}.py").touch()
    (tmp_path / "__init__.py").touch()
    assert list(house.crowded(tmp_path)) == []
    (tmp_path / "one_more.py").touch()
    assert [fault.split(": ")[1] for fault in house.crowded(tmp_path)] == [
        "16 files are more than 15; give some of them a folder of their own"
    ]


def test_tests_without_what_they_test(tmp_path: Path) -> None:
    (tmp_path / "unit" / "stats" / "gone").mkdir(parents=True)
    (tmp_path / "unit" / "support").mkdir()
    (tmp_path / "src" / "stats").mkdir(parents=True)
    (fault,) = house.without_mirror(tmp_path / "unit", tmp_path / "src")
    assert "stats/gone that it tests" in fault


def test_a_word_with_two_meanings(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("class Load: ...\nclass _Own: ...\n")
    other.write_text("class _Own: ...\nclass Queue: ...\n")
    assert list(house.namesakes([one, other])) == []
    other.write_text("class Load: ...\n")
    assert [fault.rsplit(": ", 1)[1] for fault in house.namesakes([one, other])] == [
        f"class Load is in {other} as well; one word has one meaning"
    ]


def test_a_value_that_a_request_and_its_plan_both_declare(tmp_path: Path) -> None:
    request, plan = tmp_path / "request.py", tmp_path / "plan.py"
    request.write_text("class LoadRequest(Terms):\n    control: str\n    margin: float | None = None\n")
    plan.write_text("class Plan(Terms):\n    control: Arm\n    margin: float = 0.01\n")
    assert list(house.declared_twice([request, plan])) == []
    plan.write_text("class Plan(Terms):\n    margin: float | None = 0.01\n    control: str\n")
    assert [fault.split(": ", 1)[1] for fault in house.declared_twice([request, plan])] == [
        "LoadRequest and Plan both declare control: str",
        "LoadRequest and Plan both declare margin: float | None",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def six(a, b, c, d, e, f): ...", 0),
        ("def seven(a, b, c, d, e, f, g): ...", 1),
        ("Record(1, 2, 3, 4, 5, 6)", 0),
        ("Record(1, 2, 3, 4, 5, 6, 7)", 1),
        ("Record(1, *rest)", 0),
        ("def named(a, *, b, c, d, e, f, g): ...", 0),
        ("class It:\n    def six(self, a, b, c, d, e, f): ...", 0),
    ],
)
def test_long_signatures(tmp_path: Path, text: str, found: int) -> None:
    path = tmp_path / "it.py"
    path.write_text(text)
    assert len(list(house.long_signatures(path))) == found


def test_a_docstring_without_a_subject(tmp_path: Path) -> None:
    path = tmp_path / "it.py"
    path.write_text('"""Offices of it."""\ndef fine():\n    """Ask it."""\ndef not_so():\n    """Of any point."""\n')
    (fault,) = house.headless_docstrings(path)
    assert ":4: " in fault


def test_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Fine: `stats/exact.py`.\n" + "x" * 101 + "\nGone: `stats/never_was.py`.\n")
    said = [fault.rsplit(": ", 1)[1] for fault in house.prose(page, most_lines=2)]
    assert said == ["3 lines are more than 2", "101 columns are more than 100", "`stats/never_was.py` is not there"]
