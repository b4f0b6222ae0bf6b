"""PHP that is written to keep a reader busy ends like any other."""

from pathlib import Path

import pytest

from phpdyno.apps.project.loads import places_named
from phpdyno.apps.project.php_values import assigned_in, returned_by

HOSTILE = {
    "assignments": "$a=" * 40_000,
    "brackets": "return " + "[" * 100_000,
    "quotes": '"' * 100_001,
    "comments": "/*" * 100_000,
    "keys": "$a[1]=" * 20_000 + "1;",
    "heredocs": "<<<A\n" * 30_000,
    "parentheses": "(" * 100_000,
    "dirnames": "dirname(" * 20_000,
    "doubling": "$x='aaaaaaaa';" + "$x=$x.$x;" * 200,
    "arrays": "$a=[" * 20_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_reading_ends(tmp_path: Path, kind: str) -> None:
    (tmp_path / "index.php").write_text("<?php " + HOSTILE[kind])
    assert isinstance(assigned_in(tmp_path / "index.php"), dict)
    assert returned_by(tmp_path / "index.php") == {} or kind == "brackets"
    assert all(each.place.exists() for each in places_named([tmp_path / "index.php"]))
