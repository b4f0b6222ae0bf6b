"""What releases are made of: the version's one place, the libraries of a package, the container's
steps."""

import re
import tomllib
from pathlib import Path

import pytest
from tools.packaging.locked import closure, own_dependencies, runtime_lock

import phpdyno
from tests.support.places import ROOT
from tests.support.real.containerfile import copied, stages_of

HASH = " \\\n    --hash=sha256:"
LOCK = f"msgspec==0.22.0{HASH}aa{HASH}bb\nPy_YAML==6{HASH}cc\nruff==1{HASH}dd\n"


def test_the_version_stands_in_one_place() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert phpdyno.__version__ == workspace
    assert "version" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for crate in ("dyno-load", "dyno-py", "dyno-queue"):
        assert tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())["package"]["version"] == {"workspace": True}


def test_only_named_libraries_are_taken_from_the_lock_with_their_hashes() -> None:
    assert runtime_lock(LOCK, {"py-yaml", "msgspec"}) == LOCK[: LOCK.index("ruff")]
    with pytest.raises(KeyError):
        runtime_lock(LOCK, {"numpy"})


def test_a_package_holds_what_phpdyno_imports_and_no_tool_of_its_developers() -> None:
    locked = runtime_lock((ROOT / "requirements.lock").read_text(), closure(own_dependencies()))
    names = set(re.findall(r"^([a-z0-9-]+)==", locked, re.MULTILINE))
    assert {"numpy", "msgspec", "rich", "optuna", "sqlalchemy", "markupsafe"} <= names
    assert not names & {"pytest", "mypy", "ruff", "maturin", "scipy", "hypothesis"}
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", locked)) >= len(names)


def test_the_container_is_built_of_a_clean_stage_and_runs_phpdyno() -> None:
    build, final = stages_of(ROOT / "Containerfile")
    assert build.name == "build"
    assert ("RUN", "make deb") in build.steps
    (copy,) = (copied(text) for word, text in final.steps if word == "COPY")
    assert copy == ("build", ("/src/dist/*.deb",), "/var/tmp/phpdyno/")
    assert final.steps[-2:] == (("ENTRYPOINT", '["phpdyno"]'), ("CMD", '["doctor"]'))


def test_a_step_that_is_not_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Containerfile").write_text("FROM x\n# a remark\nHEALTHCHECK NONE\n")
    with pytest.raises(ValueError, match="HEALTHCHECK is not carried out here"):
        stages_of(tmp_path / "Containerfile")
