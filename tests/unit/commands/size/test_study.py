from pathlib import Path

import pytest

from phpdyno.commands.size.render.study_page import study_page
from phpdyno.commands.size.result import found_of
from phpdyno.commands.size.study import SizeStudy, load_size_study
from phpdyno.commands.study.command import run
from phpdyno.commands.study.options import StudyOptions
from phpdyno.errors import UsageError
from tests.support.made_up import sizes
from tests.support.places import ROOT

FILE = ROOT / "studies" / "fpm-sizing.toml"


@pytest.fixture(scope="module")
def study() -> SizeStudy:
    return load_size_study(FILE)


def test_the_file_of_the_repository_is_read(study: SizeStudy) -> None:
    assert list(study.app) == ["phpinfo", "wordpress"]
    assert study.app["phpinfo"].app == str(FILE.parent / "phpinfo" / "app.toml")
    assert study.reference.table[1].per_s["static 32"]["50"] == 16279.67


def test_the_page_begins_with_the_answer_and_names_no_path(study: SizeStudy) -> None:
    run_ = sizes.whole(sizes.cpu_bound(cores=2))
    found = found_of(run_, "run")
    assert found is not None
    page = study_page(study, {"phpinfo": found}, runs={"phpinfo": run_})
    title, answer, *_ = page.split("\n\n")
    assert title == "# How many workers of php-fpm"
    assert answer.startswith("**Answer.** With ")
    assert found.answer in answer
    assert "cores × 2 held" in answer
    assert "`wordpress`: no answer." in answer
    assert "| m4.large, 2 vCPU | dynamic 5 | 1,509 |" in page
    assert "16,280" in page
    assert str(FILE.parent) not in page


def test_where_the_rule_does_not_hold_the_answer_says_so(study: SizeStudy) -> None:
    found = found_of(sizes.whole(sizes.sleeping()), "run")
    assert found is not None
    answer = study_page(study, {"wordpress": found}, runs={}).split("\n\n")[1]
    assert "cores × 2 did not hold: it loses 9" in answer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('kind = "sweep"\n', "no study of pool sizes"),
        ('kind = "size"\ntitle = "x"\n[app]\n[reference]\nsource = "y"\n', "app"),
        ('kind = "size"\ntitle = "x"\n[app.hello]\napp = "hello"\nbudget_s = 0\n[reference]\nsource = "y"\n', "budget_s"),
        ('kind = "size"\ntitle = "x"\n[app.hello]\nap = "hello"\n[reference]\nsource = "y"\n', "ap"),
        ("kind = \n", "line 1"),
    ],
)
def test_a_file_that_cannot_be_is_refused(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        load_size_study(file)
    assert words in str(refused.value)


def test_the_command_of_other_studies_names_this_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pool sizes") as refused:
        run(StudyOptions(FILE, None, "", None, tmp_path, None, json=True))
    assert refused.value.next_step == f"phpdyno size --study {FILE}"
