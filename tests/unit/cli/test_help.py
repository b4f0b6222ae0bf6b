"""What `--help` says: the most used commands first, examples that parse, a page for man."""

import shlex
import shutil
import subprocess

import pytest
from cyclopts import App

from phpdyno.cli.app import COMMANDS, app
from phpdyno.cli.examples import EXAMPLES
from phpdyno.cli.roff import man_page
from tests.support.optional import needs
from tests.support.real.command import phpdyno

LINES = [line for examples in EXAMPLES.values() for line, _ in examples]


@pytest.mark.parametrize("line", LINES)
def test_every_example_is_a_command_line_that_parses(line: str) -> None:
    words = shlex.split(line.partition(" | ")[0].partition(" > ")[0].removeprefix("sudo "))
    assert words.pop(0) == "phpdyno"
    app.parse_args(words, exit_on_error=False, print_error=False)


def test_every_command_has_examples() -> None:
    names = {command.__name__ for _, commands in COMMANDS for command in commands}
    assert set(EXAMPLES) == names | {"", "bundle"}


def test_the_most_used_commands_come_first_and_the_version_has_a_short_option() -> None:
    said = phpdyno("--help").stdout
    order = [said.index(f"│ {name} ") for name in ("tune", "compare", "measure", "build", "study", "cache")]
    assert order == sorted(order)
    assert phpdyno("-V").stdout == phpdyno("--version").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_names_the_commands(shell: str) -> None:
    answer = phpdyno("completion", shell)
    assert answer.returncode == 0, answer.stderr
    assert "tune" in answer.stdout
    if shell == "bash":
        checked = subprocess.run(["bash", "-n"], input=answer.stdout, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


@needs(shutil.which("man"), "man is not installed")
def test_the_man_page_is_read_without_a_complaint() -> None:
    page = phpdyno("manual").stdout
    shown = subprocess.run(["man", "--warnings", "-l", "-"], input=page, text=True, capture_output=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    assert "PHPDYNO COMPARE" in shown.stdout
    assert "--treatment" in shown.stdout.replace("\u2010", "-")


def test_no_line_of_the_page_is_taken_for_a_request() -> None:
    page = man_page("# phpdyno x\n\n.file and 'quoted\n\n* `--a-b`: back\\slash\n", "1")
    assert "\\&.file" in page
    assert "\\fB\\-\\-a\\-b\\fR\nback\\eslash" in page


def test_the_app_can_be_read_by_cyclopts() -> None:
    assert isinstance(app, App)
    assert app.generate_docs(usage_name="phpdyno").count("phpdyno ") > 17
