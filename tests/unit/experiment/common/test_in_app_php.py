"""What is prepended to a request of the app, run by the command-line PHP, which takes 30 ms."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from phpdyno.package import PHP_FILES
from phpdyno.servers.programs.php import default_cli

pytestmark = pytest.mark.integration


def told(tmp_path: Path, script: str, *options: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """What the file writes of a script that asks for three settings."""
    into, stub, page = tmp_path / "told.json", tmp_path / "stub.php", tmp_path / "page.php"
    names = "['precision', 'error_reporting', 'opcache.enable']"
    stub.write_text(
        f"<?php\n$phpdyno = (require '{PHP_FILES}/in_app.php')('{into}', {names}, '');\nif ($phpdyno) {{ require $phpdyno; }}\n"
    )
    page.write_text(script)
    given = [word for option in options for word in ("-d", option)]
    argv = [default_cli(), "-d", f"auto_prepend_file={stub}", *given, "-d", "user_ini.filename=.user.ini", str(page)]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=30, check=False, env={"DOCUMENT_ROOT": str(tmp_path), **(env or {})}
    )
    assert done.stdout.startswith("page"), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(into.read_text())
    return found


def test_values_before_the_first_line_and_after_the_last(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        "<?php echo 'page'; ini_set('precision', '9'); error_reporting(E_ALL & ~E_NOTICE); exit;",
        "precision=12",
        "error_reporting=1",
    )
    assert (found["begun"]["precision"], found["ended"]["precision"]) == ("12", "9")
    assert (found["begun"]["error_reporting"], found["ended"]["error_reporting"]) == ("1", "32759")


def test_what_the_app_does_in_a_shutdown_function_counts(tmp_path: Path) -> None:
    found = told(tmp_path, "<?php echo 'page'; register_shutdown_function(fn() => ini_set('precision', '9'));")
    assert found["ended"]["precision"] == "9"


def test_an_uncaught_exception_ends_a_request_too(tmp_path: Path) -> None:
    found = told(tmp_path, "<?php echo 'page'; ini_set('precision', '9'); throw new Exception('x');")
    assert found["ended"]["precision"] == "9"


@pytest.mark.parametrize(
    "hidden", ["ini_get", "ini_get,register_shutdown_function", "ini_get,error_reporting,file_put_contents,parse_ini_file"]
)
def test_functions_that_are_disabled_are_done_without(tmp_path: Path, hidden: str) -> None:
    found = told(tmp_path, "<?php echo 'page'; ini_set('precision', '9');", "precision=12", f"disable_functions={hidden}")
    assert (found["begun"]["precision"], found["ended"]["precision"]) == ("12", "9")
    assert found["ended"]["opcache.enable"] in {"0", "1"}


def test_the_directory_s_own_file_is_named_and_what_it_prepends_is_run(tmp_path: Path) -> None:
    (tmp_path / "first.php").write_text("<?php define('FIRST', 1);")
    (tmp_path / ".user.ini").write_text(f"precision = 12\nauto_prepend_file = {tmp_path}/first.php\n")
    found = told(tmp_path, "<?php echo defined('FIRST') ? 'page' : 'no';", env={"SCRIPT_FILENAME": str(tmp_path / "page.php")})
    assert found["user_ini"] == {"precision": f"{tmp_path}/.user.ini"}
