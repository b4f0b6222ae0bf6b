import shutil
import subprocess
from pathlib import Path

import pytest

from phpdyno.server_files.preload import ROOT_VARIABLE, render_preload


def test_names_are_texts_whatever_they_hold() -> None:
    text = render_preload(["it's.php", "a\\b.php"], "/srv/app")
    assert "'it\\'s.php'" in text
    assert "'a\\\\b.php'" in text
    assert f"getenv('{ROOT_VARIABLE}') ?: '/srv/app'" in text


@pytest.mark.integration
@pytest.mark.parametrize("by_variable", [True, False])
def test_php_compiles_what_is_there_and_runs_none_of_it(tmp_path: Path, by_variable: bool) -> None:
    (tmp_path / "it's.php").write_text("<?php echo 'run'; class Preloaded {}\n")
    script = tmp_path / "preload.php"
    script.write_text(render_preload(["it's.php", "gone.php"], "" if by_variable else str(tmp_path)))
    php = shutil.which("php")
    assert php is not None
    options = ["-d", "opcache.enable_cli=1", "-d", f"opcache.preload={script}", "-d", "opcache.preload_user=root"]
    answer = subprocess.run(
        [php, *options, "-r", "var_dump(class_exists('Preloaded', false));"],
        env={ROOT_VARIABLE: str(tmp_path)} if by_variable else {},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout.strip() == "bool(true)", answer.stderr
