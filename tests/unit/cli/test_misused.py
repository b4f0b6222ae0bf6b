"""A command line that cannot be parsed: one line in our own words, with the next step."""

import pytest

from phpdyno.cli.app import run
from phpdyno.errors import UsageError
from tests.support.real.command import phpdyno


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("comapre", "there is no command comapre; did you mean compare? see phpdyno --help"),
        ("--bogus", "there is no option --bogus; see phpdyno --help"),
        ("bundle aply x", "bundle: there is no command aply; did you mean apply? see phpdyno bundle --help"),
        ("compare hello --budgte 3s", "compare: there is no option --budgte; did you mean --budget? see phpdyno compare --help"),
        ("compare hello --budgte=3s", "compare: there is no option --budgte; did you mean --budget? see phpdyno compare --help"),
        ("compare hello -xyz", "compare: there is no option -xyz; see phpdyno compare --help"),
        ("compare hello extra words", "compare: nothing more is expected, and there is: extra words; see phpdyno compare --help"),
        ("compare hello --budget", "compare: --budget has no value; see phpdyno compare --help"),
        ("report", "report: RUN is missing; see phpdyno report --help"),
        ("bundle apply", "bundle apply: DIR is missing; see phpdyno bundle apply --help"),
        ("compare hello --seed 1 --seed 2", "compare: --seed is given more than once; see phpdyno compare --help"),
        ("compare hello --concurrency abc", "compare: --concurrency abc is no whole number; see phpdyno compare --help"),
        ("compare hello --aa=3", "compare: --aa takes no value, and has 3; see phpdyno compare --help"),
        (
            "compare hello --transport fastcg",
            "compare: --transport fastcg is not known; it is one of: http, fastcgi; did you mean fastcgi? see phpdyno compare --help",
        ),
        ("completion tcsh", "completion: SHELL tcsh is not known; it is one of: bash, zsh, fish; see phpdyno completion --help"),
    ],
)
def test_what_is_wrong_where_and_what_to_do_next(line: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(line.split())
    assert str(caught.value) == told


@pytest.mark.parametrize("line", ["tune hello --bugdet 3m", "tuen", "completion tcsh"])
def test_the_command_ends_with_2_and_this_one_line(line: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(line.split())
    answer = phpdyno(*line.split())
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"phpdyno: {caught.value}\n")
