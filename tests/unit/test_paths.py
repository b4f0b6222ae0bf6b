"""Where phpdyno lies, and what a shell finds it by."""

import sys
from pathlib import Path

import pytest

from phpdyno.paths import own_place


def test_a_shell_finds_phpdyno_by_name_only_where_its_path_leads_to_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, others = tmp_path / "venv", tmp_path / "usr"
    for folder in (ours, others):
        folder.mkdir()
        (folder / "phpdyno").write_text("#!/bin/sh\n")
        (folder / "phpdyno").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(ours / "python"))
    assert own_place(str(ours)) is None
    assert own_place(f"{tmp_path}:{ours}") is None
    assert own_place(str(tmp_path)) == ours / "phpdyno"
    assert own_place(f"{others}:{ours}") == ours / "phpdyno"  # another one, of an older package
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "phpdyno").symlink_to(ours / "phpdyno")
    assert own_place(str(tmp_path / "bin")) is None
    (ours / "phpdyno").unlink()
    assert own_place(str(tmp_path)) is None
