"""The check-up on the screen and as JSON."""

import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from phpdyno.commands.doctor.command import run, table
from phpdyno.commands.doctor.estimate import Decidable, HostEstimate
from phpdyno.commands.doctor.run import CheckUp
from phpdyno.errors import UsageError
from phpdyno.host.checkup.check import Check, install
from tests.support.places import ROOT

OK = Check("measuring", "cores", "ok", "2: core 1 for the instance under test, core 0 for the rest")
LIMITED = Check("isolation", "open files", "limits", "up to 1024", "--concurrency above about 462 runs out of them", "ulimit -n 2100")
ABSENT = Check("tools", "strace", "missing", "not installed", "only for syscalls per request", install("strace"))
NO_PHP = Check(
    "servers", "php-fpm", "missing", "not installed", "nothing can be measured without it", install("php8.2-fpm"), essential=True
)
SENTENCE = "hello: a difference of 1 % is decidable in about 40 s."


def shown(found: CheckUp, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(table(found))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits_and_a_command_is_not_torn(width: int) -> None:
    lines = shown(CheckUp(possible=True, checks=(OK, LIMITED, ABSENT)), width)
    assert max(map(len, lines)) <= width
    assert "         fix: ulimit -n 2100".strip() in [line.strip() for line in lines]
    assert "fix: sudo apt-get install --no-install-recommends strace" in [line.strip() for line in lines]
    assert [line for line in lines if line in {"measuring", "isolation", "tools"}] == ["measuring", "isolation", "tools"]


def test_a_seed_that_is_none_is_refused_before_anything_is_looked_at() -> None:
    with pytest.raises(UsageError, match="--seed: a seed is a whole number from 0 on"):
        run("hello", Path("runs"), estimate=True, seed=-1, json=False)


def test_what_a_program_says_of_itself_cannot_steer_the_terminal() -> None:
    hostile = Check("servers", "nginx", "missing", "nginx/1.\x1b[2J[red]22", fix="[/red]\x07", essential=True)
    text = "\n".join(shown(CheckUp(possible=False, checks=(hostile,)), 80))
    assert "nginx/1.�[2J[red]22" in text
    assert "\x1b" not in text
    assert "[/red]�" in text


def test_the_reference_names_every_field() -> None:
    page = (ROOT / "docs" / "reference" / "doctor.md").read_text()
    for kind in (CheckUp, Check, HostEstimate, Decidable):
        for field in msgspec.structs.fields(kind):
            assert f"| `{field.encode_name}` |" in page, field.name
    (schema,) = msgspec.json.schema(CheckUp)["$defs"]["CheckUp"]["properties"]["schema"]["enum"]
    assert schema in page
    document = json.loads(msgspec.json.encode(CheckUp(possible=True, checks=(OK,))))
    assert list(document) == ["schema", "phpdyno", "possible", "checks", "estimate"]
