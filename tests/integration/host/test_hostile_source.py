"""A source whose own scripts try to reach the host while it is configured and compiled, and to lead
whoever works in the tree elsewhere."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.apps.files.copies import give_to_service
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.php_build.compile.flags import flags_of
from phpdyno.php_build.compile.tree import ADDED, PROGRAMS, Built, SourceTree
from phpdyno.php_build.pipeline import _keep
from phpdyno.php_build.source.needs import TOOLS, missing_of
from phpdyno.php_build.train.profiles import merge
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.optional import needs
from tests.support.real.command import fault_of, phpdyno
from tests.support.real.extension import extension_source

pytestmark = pytest.mark.integration

O2 = flags_of(parse_recipe("o2"), "plain")
KEPT = "what was there before"
MISSING = missing_of(TOOLS)
IN_BOTTLE = pytest.mark.skipif(os.geteuid() != 0, reason="only root compiles with the rights of another account")
HEADERS = {
    "main/php_version.h": '#define PHP_VERSION "8.4.2"\n#define PHP_VERSION_ID 80402\n',
    "Zend/zend_modules.h": "#define ZEND_MODULE_API_NO 20240924\n",
    "Zend/zend_language_parser.c": "",
}
SCRIPT = """#!/bin/sh
id -u > who
cat {victim}/secret > read 2>/dev/null
cat {victim}/kept > seen 2>/dev/null
echo changed > {victim}/kept
echo more > {victim}/written
ls /proc | grep -c '^[0-9]' > processes
(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo yes > connected
cp /bin/true suid; chmod 6755 suid
for name in libtool-programs libtool-modules profile_signals.c profile_signals.o configure.ac; do ln -sf {victim}/kept $name; done
rm -rf {added} main/sub; mkdir main/sub
ln -s {victim} {added}
ln -s {victim}/kept main/main.gcda
ln -s {victim} Zend/sub
ln -s {victim}/kept ../done.json 2>/dev/null
echo build_libtool_libs=yes > libtool
printf 'all:\\n\\nsapi/fpm/php-fpm:\\n\\tmkdir -p sapi/fpm; ln -sf {victim}/secret $@\\n' > Makefile
printf 'sapi/cgi/php-cgi sapi/cli/php:\\n\\tmkdir -p $(@D); echo made > $@\\n' >> Makefile
exit $(cat status)
"""


@pytest.fixture
def victim() -> Iterator[Path]:
    """A directory of the host that everybody may write to, with a file that only we may read."""
    place = Path(tempfile.mkdtemp(prefix="pd-victim-", dir="/tmp"))
    place.chmod(0o777)
    (place / "kept").write_text(KEPT)
    (place / "kept").chmod(0o666)
    (place / "secret").write_text("of ours")
    (place / "secret").chmod(0o600)
    yield place
    assert {path.name: path.read_text() for path in place.iterdir()} == {"kept": KEPT, "secret": "of ours"}
    assert (place / "kept").stat().st_mode & 0o777 == 0o666
    shutil.rmtree(place)


def hostile(place: Path, victim: Path, *, status: int = 0) -> Path:
    for name, text in {**HEADERS, "status": str(status), "configure": SCRIPT.format(victim=victim, added=ADDED, port=3306)}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    (place / "configure").chmod(0o755)
    return place


def tree_of(place: Path, supervisor: Supervisor) -> SourceTree:
    """Configured, as a build does it."""
    give_to_service(supervisor, place)
    tree = SourceTree(place, supervisor, lambda *_: None)
    tree.configure(())
    return tree


def test_what_configures_and_compiles_reaches_nothing_of_the_host(tmp_path: Path, victim: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        tree_of(hostile(tmp_path / "source", victim), supervisor)
        found = {name: (tmp_path / "source" / name).read_text().strip() for name in ("who", "read", "seen")}
        assert found == {"who": str(supervisor.user.uid), "read": "", "seen": ""}
        assert int((tmp_path / "source/processes").read_text()) < 10
        assert not (tmp_path / "source/connected").exists()
        # It runs as nobody else: what it leaves gives no rights but its own.
        assert (tmp_path / "source/suid").stat().st_uid == supervisor.user.uid


@IN_BOTTLE
def test_links_that_a_source_leaves_in_its_tree_lead_nobody_elsewhere(tmp_path: Path, victim: Path) -> None:
    source = hostile(tmp_path / "source", victim)
    taught = tmp_path / "taught"
    (taught / "main").mkdir(parents=True)
    (taught / "main/main.gcda").write_text("profile")
    kept = tmp_path / "kept"
    kept.mkdir()
    with Supervisor(tmp_path / "logs") as supervisor:
        tree = tree_of(source, supervisor)
        tree.teach(taught)
        assert (source / "main/main.gcda").read_text() == "profile"
        assert not (source / "main/main.gcda").is_symlink()
        with pytest.raises(DynoError, match="mkdir failed in this source"):
            tree.add("answers", extension_source(tmp_path / "answers"))
        (source / ADDED).unlink()
        built = tree.compile(O2, "compiling o2")
        with pytest.raises(DynoError, match="php-fpm: copying failed: Too many levels of symbolic links"):
            _keep(built, kept)
        assert list(kept.iterdir()) == []
        (source / PROGRAMS["php-fpm"]).unlink()
        with pytest.raises(DynoError, match="copying failed: another account can have put this link there"):
            _keep(Built({"php": source / "Zend/sub/kept"}, None), kept)
        for program in PROGRAMS.values():
            (source / program).unlink(missing_ok=True)
        tree.clean()
        tree.forget_compiling()


@IN_BOTTLE
def test_a_pipe_in_a_tree_is_not_waited_for(tmp_path: Path, victim: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        tree = tree_of(hostile(tmp_path / "source", victim), supervisor)
        (tmp_path / "source/Makefile").unlink()
        os.mkfifo(tmp_path / "source/Makefile")
        with pytest.raises(DynoError, match="Makefile: this is no plain file"):
            tree.compile(O2, "compiling o2")


@IN_BOTTLE
def test_profiles_that_are_no_profiles_are_read_without_our_rights(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "main").mkdir(parents=True)
        (tmp_path / name / "main/main.gcda").write_bytes(b"no profile at all")
    with Supervisor(tmp_path / "logs") as supervisor:
        (tmp_path / "two/main/main.gcda").chmod(0o600)
        with pytest.raises(DynoError, match=r"the profiles cannot be (copied|merged)"):
            merge([(tmp_path / "one", 1.0), (tmp_path / "two", 2.0)], tmp_path / "merged", supervisor)


@needs(not MISSING, f"compiling PHP needs {', '.join(MISSING)}")
def test_a_source_that_fails_is_one_line_and_its_record_is_nobodys_link(tmp_path: Path, victim: Path) -> None:
    source = hostile(tmp_path / "source", victim, status=3)
    cache = tmp_path / "cache"
    argv = (
        "build",
        "--train",
        "hello",
        "--standalone",
        "--extension",
        "none",
        "--source",
        source,
        "--recipe",
        "o2",
        "--runs",
        tmp_path / "r",
    )
    answer = phpdyno(*argv, env={**os.environ, "PHPDYNO_CACHE": str(cache)})
    assert answer.returncode == 1, answer.stderr
    assert "configuring failed" in fault_of(answer.stderr.splitlines()[-1])
    (tree,) = (cache / "builds/trees").iterdir()
    assert [path.name for path in tree.iterdir()] == ["tree"]
    if os.geteuid() == 0:
        # Nobody else passes to a program that gives that account's rights.
        assert tree.stat().st_mode & 0o777 == 0o710
        assert tree.stat().st_uid == 0
