"""The tests of our client of Tarantool, in PHP, against the server that phpdyno itself takes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from phpdyno.commands.connectors.run import OWN_CONNECTOR
from phpdyno.servers.tarantool.server import TarantoolProgram
from tests.support.optional import needs

PHPUNIT = shutil.which("phpunit") or ""
pytestmark = [pytest.mark.integration, needs(PHPUNIT, "the tests of php/tarantool need phpunit: sudo apt-get install phpunit")]


def test_its_own_tests_pass(tmp_path: Path, tarantool: TarantoolProgram) -> None:
    env = {**os.environ, **tarantool.env, "TARANTOOL_SERVER": str(tarantool.binary)}
    argv = [PHPUNIT, "--configuration", str(OWN_CONNECTOR.parent / "phpunit.xml.dist"), "--do-not-cache-result"]
    answer = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout[-3000:]
    said = answer.stdout.splitlines()[-1]
    # What is skipped is what another library is wanted for.
    assert "Tests: " in said or said.startswith("OK ("), said
