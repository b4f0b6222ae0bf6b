"""The layers ext, source and app on real servers, and the ini files that an instance reads."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.apps.files.revisions import prepare_commit
from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.errors import DynoError
from phpdyno.journal.records import Planned, Proved
from phpdyno.model.app import AppSetting
from phpdyno.model.facts import WorkerFacts
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.command import FEWEST, phpdyno, records_of, row
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

CALENDAR = Path("/usr/lib/php/20220829/calendar.so")
DEBIAN = pytest.mark.skipif(not CALENDAR.is_file(), reason="Debian's php8.2 is not installed")
TOML = """name = "shop"
docroot = "public"
root = "."
prepare = ["sh", "-c", "echo once >> prepared"]
[setting.mode]
env = "MODE"
values = ["fast", "slow"]
default = "fast"
[[target]]
path = "/"
"""
PAGE = "<?php echo str_repeat('<p>x</p>', 50), is_file(__DIR__ . '/../prepared') ? 'prepared' : 'raw';"


def facts_of(tmp_path: Path, settings: dict[str, str]) -> WorkerFacts:
    with plain_bench(tmp_path) as bench, bench.running([plain_arm("arm", settings)]) as (instance,):
        return instance.read_facts(())


@DEBIAN
def test_an_extension_is_left_out_or_loaded_from_another_file(tmp_path: Path) -> None:
    plain = facts_of(tmp_path, {})
    without = facts_of(tmp_path, {"ext.calendar": "off"})
    assert set(plain.extensions) - set(without.extensions) == {"calendar"}
    assert len(without.ini_files) == len(plain.ini_files)
    copy = tmp_path / "calendar.so"  # pytest's directory is closed to the servers' account, so this is a copy of a copy
    copy.write_bytes(CALENDAR.read_bytes())
    other = facts_of(tmp_path, {"ext.calendar": str(copy)})
    assert set(other.extensions) == set(plain.extensions)
    assert str(copy) in other.mapped_extensions
    assert str(CALENDAR) not in other.mapped_extensions
    assert str(CALENDAR) in plain.mapped_extensions
    assert facts_of(tmp_path, {"ext.opcache": "off"}).opcache is None


@DEBIAN
def test_an_extension_of_another_php_fails_in_php_s_own_words(tmp_path: Path) -> None:
    alien = tmp_path / "alien.so"
    alien.write_bytes(CALENDAR.read_bytes().replace(b"API20220829", b"API20190902"))
    with pytest.raises(ArmFailed, match=r"runs without an extension: .*build ID=API20190902"):
        facts_of(tmp_path, {"ext.calendar": str(alien)})
    assert wait_for_no_traces() == []


def test_ini_files_from_elsewhere_and_settings_of_the_pool(tmp_path: Path) -> None:
    scanned = tmp_path / "scanned"
    scanned.mkdir()
    (scanned / "own.ini").write_text("precision = 7\n")
    (tmp_path / "php.ini").write_text("user_agent = mine\nopcache.restrict_api = /srv/shop\n")
    settings = {"php.ini": str(tmp_path / "php.ini"), "php.scan_dir": f":{scanned}", "pool.php_admin_value[date.timezone]": "Europe/Vienna"}
    facts = facts_of(tmp_path, settings)
    assert (facts.ini["user_agent"], facts.ini["precision"], facts.ini["date.timezone"]) == ("mine", "7", "Europe/Vienna")
    assert facts.ini_files[0] == str(tmp_path / "php.ini")
    assert str(scanned / "own.ini") in facts.ini_files
    assert facts.opcache is not None
    bare = facts_of(tmp_path, {"php.ini": "none", "php.scan_dir": "none"})
    assert bare.opcache is None
    assert [Path(path).name for path in bare.ini_files[1:]] == ["phpdyno.ini"]


def test_a_fence_around_files_lets_our_own_pass(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"ini.open_basedir": "/srv/shop"})
    assert facts.ini["open_basedir"].startswith("/srv/shop:/")


def git(folder: Path, *argv: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "safe.directory=*"]
    return subprocess.run(["git", "-C", str(folder), *identity, *argv], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def shop() -> Iterator[Path]:
    """A repository in which v1 is the work tree's code but slower, v2 answers differently, and
    hooks would leave traces."""
    home = Path(tempfile.mkdtemp(prefix="pd-shop-", dir="/tmp"))
    home.chmod(0o755)  # its owner, who is not root, has to reach it
    repository = home / "shop"
    (repository / "public").mkdir(parents=True)
    (repository / "shared").mkdir()
    index = repository / "public" / "index.php"
    git(repository.parent, "init", "--quiet", str(repository))
    (repository / "app.toml").write_text(TOML)
    (repository / "shared" / "part.php").write_text("<?php $loops = 300000;")
    (repository / "public" / "part.php").symlink_to("../shared/part.php")
    for tag, text in {"v1": PAGE + "include 'part.php'; for ($i = 0; $i < $loops; $i++);", "v2": PAGE + "echo 'new';", "v3": PAGE}.items():
        index.write_text(text)
        git(repository, "add", "-A")
        git(repository, "commit", "--quiet", f"--message={tag}")
        git(repository, "tag", tag)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        path = repository / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch {home}/hook-ran\n")
        path.chmod(0o755)
    yield repository
    shutil.rmtree(home)


def test_arms_that_serve_commits_and_settings_of_the_app(shop: Path, tmp_path: Path) -> None:
    (shop / "public" / "index.php").write_text(PAGE + "// not committed\n")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "nobody:nogroup", str(shop.parent)], check=True)
    index_before = (shop / ".git" / "index").read_bytes()
    treatments = [word for spec in ("source=v1", "source=v2", "app.mode=slow", "app.mode=fast") for word in ("--treatment", spec)]
    answer = phpdyno(
        "compare", shop, "--control", "source=v3", *treatments, *FEWEST, "--budget", "30s", "--runs", tmp_path / "runs", "--json"
    )
    assert answer.returncode == 0, answer.stderr
    assert row(answer, "source=v1")["kind"] == "regressed", row(answer, "source=v1")
    assert "answers differently" in row(answer, "source=v2")["reason"]
    assert row(answer, "app.mode=slow")["kind"] != "invalid"
    assert "the control has the same value" in row(answer, "app.mode=fast")["reason"]
    records = records_of(tmp_path / "runs")
    plan = next(record.plan for record in records if isinstance(record, Planned))
    facts = {record.arm: record.facts for record in records if isinstance(record, Proved)}
    assert plan.control.settings["source"] == facts["control"].source == git(shop, "rev-parse", "v3")
    assert facts["source=v1"].served_files >= 2
    assert facts["app.mode=slow"].app == {"mode": "slow"}
    assert (shop / ".git" / "index").read_bytes() == index_before
    assert (shop / "public" / "index.php").read_text().endswith("// not committed\n")
    assert not (shop / "prepared").exists()
    assert not (shop.parent / "hook-ran").exists()
    assert wait_for_no_traces() == []


def test_a_commit_is_prepared_on_the_database_that_the_arms_share(shop: Path, tmp_path: Path) -> None:
    (shop / "app.toml").write_text('database = "shop"\n' + TOML)
    with Supervisor(tmp_path / "logs") as supervisor:
        app = open_app(str(shop))
        base = app.prepare(supervisor, cache=tmp_path / "cache", progress=silent)
        commit = git(shop, "rev-parse", "v1")
        then = prepare_commit(app, commit, supervisor, cache=tmp_path / "cache", progress=silent, shared=base)
        assert then.datadir == base.datadir
        assert (then.docroot, then.commit) == (shop / "public", commit)
        assert then.copy == supervisor.live / f"app-{commit[:12]}"
        seen = supervisor.run("seen", ["cat", str(shop / "prepared"), str(shop / "public/part.php")], binds=then.binds).said()
        assert seen.startswith("once\n")
        assert "300000" in seen
        assert (then.copied_docroot / "part.php").readlink() == Path("../shared/part.php")
        assert not (supervisor.live / f"commit-{commit[:12]}").exists()


def test_a_commit_without_the_docroot_is_refused(shop: Path, tmp_path: Path) -> None:
    git(shop, "rm", "-r", "--quiet", "-f", "public")
    git(shop, "commit", "--quiet", "--message=gone")
    (shop / "public").mkdir()
    (shop / "public" / "index.php").write_text(PAGE)
    with Supervisor(tmp_path / "logs") as supervisor:
        commit = git(shop, "rev-parse", "HEAD")
        with pytest.raises(DynoError, match="this commit has no directory public"):
            prepare_commit(open_app(str(shop)), commit, supervisor, cache=tmp_path / "cache", progress=silent)


@DEBIAN
def test_an_instance_preloads_the_copy_s_script_and_never_the_live_one(tmp_path: Path) -> None:
    site = tmp_path / "live"
    site.mkdir()
    (site / "preload.php").write_text("<?php class Preloaded {}")
    with plain_bench(tmp_path) as bench:
        (bench.app.docroot / "preload.php").write_text("<?php class Preloaded {}")
        bench.app = structs.replace(bench.app, root=bench.app.docroot, original=site)
        plain = plain_arm("plain")
        arms = [structs.replace(plain, php=structs.replace(plain.php, preload=str(path))) for path in (site / "preload.php", CALENDAR)]
        explicit = plain_arm("explicit", {"ini.opcache.preload": str(site / "preload.php")})
        elsewhere = plain_arm("elsewhere", {"ini.opcache.preload": str(bench.probe.parent / "other.php")})
        (bench.probe.parent / "other.php").write_text("<?php class Other {}")
        with bench.running([*arms, explicit, elsewhere]) as instances:
            found = [instance.read_facts(()) for instance in instances]
    scripts = [facts.opcache.preloaded_scripts if facts.opcache else None for facts in found]
    assert scripts == [1, 0, 1, 1]
    assert [facts.ini["opcache.preload"] for facts in found[:3]] == [str(site / "preload.php"), "", str(site / "preload.php")]
    assert [bool(facts.preloaded_elsewhere) for facts in found] == [False, False, False, True]
    assert found[3].preloaded_elsewhere.endswith("/probe/other.php")


def test_a_value_of_the_running_pool_is_no_plain_text_as_a_setting_of_the_app(tmp_path: Path) -> None:
    arm = plain_arm("arm", {"env.MODE": "live:www"})
    with plain_bench(tmp_path) as bench:
        bench.app = structs.replace(bench.app, settings={"mode": AppSetting("MODE")})
        bench._live_values = {"live:www": {"env.MODE": "hunter2"}}
        with bench.running([arm]) as (instance,):
            facts = instance.read_facts(("MODE",))
    assert facts.app == {"mode": "live:www"}
    assert facts.env == {"MODE": "live:www"}
    assert "hunter2" not in str(facts)
