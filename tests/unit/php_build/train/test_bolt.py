"""What BOLT prints, and what is missing."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from phpdyno.errors import DynoError
from phpdyno.model.build import Counted
from phpdyno.php_build.compile.dropin import EXTENSIONS, assemble, vm_kind
from phpdyno.php_build.compile.tree import Built
from phpdyno.php_build.train.bolt import Bolt, BoltError, counts_in, not_read_in, require_bolt
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.unit.php_build.fakes import FakeSupervisor

SAID = """BOLT-INFO: program-wide dynostats after all optimizations before SCTC and FOP:

         6513402 : executed forward branches
         1871342 : taken forward branches
         3423424 : taken branches

         5513402 : executed forward branches (-15.4%)
          871342 : taken forward branches (-53.4%)
         2423424 : taken branches (-29.2%)
BOLT-INFO: skipping processing zlog_set_level/1 per user request
BOLT-WARNING: failed to post-process indirect branches for zval_ptr_dtor
BOLT-WARNING: failed to post-process indirect branches for zend_mm_chunk_free.isra.0/1(*2)
BOLT-WARNING: FDE [0x5c4a60, 0x5c4af6) has no corresponding symbol table entry
"""

NOBODY = cast(Supervisor, SimpleNamespace())


def test_dyno_stats_are_read_before_and_after() -> None:
    assert counts_in(SAID) == (
        Counted("executed forward branches", 6513402, 5513402),
        Counted("taken forward branches", 1871342, 871342),
        Counted("taken branches", 3423424, 2423424),
    )


def test_functions_that_bolt_could_not_read_are_named() -> None:
    assert not_read_in(SAID) == ("zend_mm_chunk_free.isra.0", "zval_ptr_dtor")


def test_a_missing_bolt_names_the_line_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=r"BOLT is not installed.*bolt-19 libbolt-19-dev"):
        Bolt(NOBODY, tmp_path)
    program = tmp_path / "llvm-19" / "bin" / "llvm-bolt"
    program.parent.mkdir(parents=True)
    program.touch()
    with pytest.raises(DynoError, match="BOLT's runtime is not installed"):
        Bolt(NOBODY, tmp_path)
    runtime = tmp_path / "llvm-19" / "lib" / "libbolt_rt_instr.a"
    runtime.parent.mkdir()
    runtime.touch()
    require_bolt(tmp_path)


def supervisor_that(live: Path, run: Callable[[str, list[str]], SimpleNamespace]) -> FakeSupervisor:
    """One that runs things so, and leaves a result where one is asked for."""

    def running(name: str, argv: list[str], **_: object) -> SimpleNamespace:
        Path(argv[argv.index("-o") + 1]).write_text("result")
        return run(name, argv)

    made = FakeSupervisor(live)
    made.run = running  # type: ignore[method-assign,assignment]
    return made


def test_what_fails_in_bolt_is_a_fault_of_bolts(tmp_path: Path) -> None:
    def run(name: str, *_: object, **__: object) -> SimpleNamespace:
        if name.endswith("merge"):
            raise DynoError("build-bolt-merge did not end within 1800 s")
        said = "BOLT-ERROR: no relocations"
        return SimpleNamespace(status=1, tail=lambda _: said, said=lambda: said, log="log")

    bolt = Bolt(cast(Supervisor, supervisor_that(tmp_path, run)), installed(tmp_path))
    with pytest.raises(BoltError, match=r"BOLT \(instrument\) failed: BOLT-ERROR: no relocations"):
        bolt.instrument(tmp_path, tmp_path, tmp_path)
    for profiles, why in (([], "training left no profile"), ([tmp_path], "did not end within 1800 s")):
        with pytest.raises(BoltError, match=why):
            bolt.merge(profiles, tmp_path)


REFUSED = (
    "BOLT-INFO: enabling relocation mode\n"
    "BOLT-ERROR: unable to get new address corresponding to input address 0x5c4a60 in function {}. "
    "Consider adding this function to --skip-funcs=...\n"
)


def installed(home: Path) -> Path:
    for name in ("bin/llvm-bolt", "lib/libbolt_rt_instr.a"):
        (home / "llvm-19" / name).parent.mkdir(parents=True)
        (home / "llvm-19" / name).touch()
    return home


def test_functions_that_bolt_gives_up_for_are_left_alone_and_named(tmp_path: Path) -> None:
    refused = ["execute_data/1(*2)", "jump_to"]
    asked: list[list[str]] = []

    def run(_: str, argv: list[str], **__: object) -> SimpleNamespace:
        asked.append(argv)
        open_ = [name for name in refused if name.partition("/")[0] not in argv[-1]]
        said = REFUSED.format(open_[0]) if open_ else SAID
        return SimpleNamespace(status=int(bool(open_)), said=lambda: said, tail=lambda _: said, log="log")

    bolt = Bolt(cast(Supervisor, supervisor_that(tmp_path, run)), installed(tmp_path))
    told = bolt.optimise(Path("php-fpm"), tmp_path, tmp_path / "made").told
    assert told.not_read == ("execute_data", "jump_to", "zend_mm_chunk_free.isra.0", "zval_ptr_dtor")
    assert [argv[-1] for argv in asked[1:]] == [
        "--skip-funcs=execute_data(/.*)?",
        "--skip-funcs=execute_data(/.*)?,jump_to(/.*)?",
    ]
    assert bolt.instrument(Path("php-fpm"), tmp_path / "made", tmp_path) == ("execute_data", "jump_to")
    stubborn = SimpleNamespace(status=1, said=lambda: REFUSED.format("main"), tail=lambda _: "in function main", log="log")
    bolt = Bolt(cast(Supervisor, supervisor_that(tmp_path, lambda *_, **__: stubborn)), tmp_path)
    with pytest.raises(BoltError, match="in function main"):
        bolt.instrument(tmp_path, tmp_path, tmp_path)


def test_a_drop_in_links_the_distributions_extensions_and_has_its_own_opcache(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name in ("opcache.so", "mysqli.so"):
        (theirs / name).write_text("theirs")
    program, own = tmp_path / "php-fpm", tmp_path / "opcache.so"
    program.write_text("program")
    own.write_text("ours")
    assemble(Built({"php-fpm": program}, own), tmp_path / "made", theirs)
    extensions = tmp_path / "made" / EXTENSIONS
    assert (extensions / "opcache.so").read_text() == "ours"
    assert not (extensions / "opcache.so").is_symlink()
    assert (extensions / "mysqli.so").resolve() == theirs / "mysqli.so"
    assert (tmp_path / "made" / "php-fpm").stat().st_mode & 0o111
    with pytest.raises(DynoError, match="is not there"):
        assemble(Built({}, None), tmp_path / "other", tmp_path / "nowhere")


def test_the_kind_of_interpreter_is_what_the_preprocessor_says() -> None:
    with pytest.raises(DynoError, match="do not say which interpreter"):
        vm_kind("#define ZEND_VM_KIND_CALL 1\n")
    assert vm_kind("#define ZEND_VM_KIND_CALL 1\n#define ZEND_VM_KIND ZEND_VM_KIND_HYBRID\n") == "HYBRID"
