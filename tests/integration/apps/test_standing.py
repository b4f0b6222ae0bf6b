"""A large app stands in the bottle as an overlay over its original: ready at once, at its own path,
and nothing of the original changes."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from phpdyno.apps.files.revisions import prepare_commit
from phpdyno.apps.files.standing import MOST_COPIED_FILES
from phpdyno.apps.folder import FolderApp
from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.errors import UsageError
from phpdyno.model.app import PreparedApp
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.integration.apps.test_layers import git
from tests.support.real.command import FEWEST, await_journal, start

pytestmark = pytest.mark.integration

ROOT = os.geteuid() == 0
PAGE = "<?php echo 'page';"
ASK = "; ".join(
    (
        "cat public/index.php; ls -A; stat -c %U var; cat linked/one",
        "echo x > made; echo y >> public/index.php; echo z > var/cache; echo w > linked/two",
    )
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A tree of more files than are copied, with a directory and a file that links lead to outside
    of it."""
    site = tmp_path / "site"
    (site / "public").mkdir(parents=True)
    (site / "public" / "index.php").write_text(PAGE)
    (site / ".git").mkdir()
    (site / ".git" / "config").write_text("secret")
    (site / "var").mkdir()
    for folder in range(50):
        (site / f"many/{folder}").mkdir(parents=True)
        for number in range(MOST_COPIED_FILES // 50 + 1):
            (site / f"many/{folder}/{number}").touch()
    shared = tmp_path / "shared" / "uploads"
    shared.mkdir(parents=True)
    (shared / "one").write_text("one")
    (shared.parent / "env").write_text("A=b\n")
    (shared.parent / "env").chmod(0o600)
    (site / "linked").symlink_to(shared)
    (site / ".env").symlink_to("../shared/env")
    (site / "stderr").symlink_to("/dev/stderr")
    return site


def app_of(site: Path, **further: str) -> FolderApp:
    lines = "".join(f"{name} = {value}\n" for name, value in further.items())
    (site.parent / "app.toml").write_text(f'name = "large"\nroot = "site"\ndocroot = "site/public"\n{lines}[[target]]\npath = "/"\n')
    app = open_app(str(site.parent / "app.toml"))
    assert isinstance(app, FolderApp)
    return app


def prepared(supervisor: Supervisor, app: FolderApp, tmp_path: Path) -> PreparedApp:
    return app.prepare(supervisor, cache=tmp_path / "cache", progress=silent)


def said(supervisor: Supervisor, app: PreparedApp, script: str) -> str:
    """What a shell prints that stands in the app's root as its servers see it."""
    assert app.root
    child = supervisor.run("asked", ["sh", "-ec", script], cwd=app.root, binds=app.binds)
    assert child.status == 0, child.said()
    return child.said()


def checksum(*trees: Path) -> str:
    """Of all that a tree holds, owners and times too."""
    total = hashlib.sha256()
    for tree in trees:
        for path in sorted([tree, *tree.rglob("*")]):
            held = path.lstat()
            content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else ""
            total.update(f"{path} {held.st_mode} {held.st_uid} {held.st_gid} {held.st_mtime_ns} {content!r}".encode())
    return total.hexdigest()


def test_it_is_written_to_and_the_original_does_not_change(supervisor: Supervisor, site: Path, tmp_path: Path) -> None:
    before = checksum(site, tmp_path / "shared")
    app = prepared(supervisor, app_of(site), tmp_path)
    assert app.written is not None
    assert app.root == site
    told = said(supervisor, app, ASK)
    assert PAGE in told
    assert "\none" in told
    assert ".git" not in told.splitlines()
    assert said(supervisor, app, "cat made var/cache linked/two .env; pwd; readlink linked").split() == [
        *("x", "z", "w", "A=b", str(site), str(tmp_path / "shared" / "uploads"))
    ]
    assert (app.written / "made").read_text() == "x\n"
    assert said(supervisor, app, "readlink stderr; echo heard >> stderr") == "/dev/stderr\nheard\n"
    assert len(list(supervisor.live.glob("linked-file-*"))) == 1, "only .env is a file of the host"
    assert checksum(site, tmp_path / "shared") == before


def test_nothing_of_it_is_left(site: Path, tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        if supervisor.no_bottle:
            pytest.skip(f"no bottle can be made here: {supervisor.no_bottle}")
        app = prepared(supervisor, app_of(site), tmp_path)
        said(supervisor, app, "mkdir -p a/b; echo x > a/b/c; chmod 0 a")
        live = supervisor.live
        assert live.exists()
    assert not live.exists()
    assert str(site) not in Path("/proc/self/mountinfo").read_text()


def test_a_small_tree_is_copied(supervisor: Supervisor, site: Path, tmp_path: Path) -> None:
    shutil.rmtree(site / "many")
    app = prepared(supervisor, app_of(site), tmp_path)
    assert app.written is None
    assert said(supervisor, app, "cat linked/one .env") == "oneA=b\n"


@pytest.mark.parametrize("large", [False, True])
def test_what_is_excluded_is_not_there(supervisor: Supervisor, site: Path, tmp_path: Path, *, large: bool) -> None:
    if not large:
        shutil.rmtree(site / "many")
    (site / "public/uploads/old").mkdir(parents=True)
    (site / "public/uploads/old/one").write_text("x")
    (site / "public/notes.txt").write_text("x")
    app = prepared(supervisor, app_of(site, exclude='["public/uploads", "public/notes.txt", "var", "not-there/at/all"]'), tmp_path)
    assert (app.written is not None) == large
    assert said(
        supervisor, app, "ls -A public; ls -A public/uploads; echo x > public/uploads/new; echo x > var/new; cat public/uploads/new"
    ).split() == [*("index.php", "uploads", "x")]


def test_its_version_changes_with_a_file_and_with_what_is_excluded(supervisor: Supervisor, site: Path, tmp_path: Path) -> None:
    first = prepared(supervisor, app_of(site), tmp_path).version
    assert prepared(supervisor, app_of(site), tmp_path).version == first
    assert prepared(supervisor, app_of(site, exclude='["many/1"]'), tmp_path).version != first
    (site / "many/1/1").write_text("x")
    assert prepared(supervisor, app_of(site), tmp_path).version != first


@pytest.mark.skipif(not ROOT, reason="only root gives files away")
def test_files_of_several_accounts_are_the_servers_to_write(supervisor: Supervisor, site: Path, tmp_path: Path) -> None:
    """Most are another account's than the tree's top, some a third one's."""
    subprocess.run(["chown", "-R", "games:games", site / "many", site / "public"], check=True)
    subprocess.run(["chown", "-R", "man:man", site / "var"], check=True)
    (site / "many/1/1").chmod(0o400)
    before = checksum(site)
    app = prepared(supervisor, app_of(site), tmp_path)
    assert app.written is not None
    assert said(
        supervisor, app, "for place in made many/1/1 var/made public/index.php; do echo x > $place; done; stat -c %u . many var many/2/2"
    ) == (f"{supervisor.user.uid}\n" * 4)
    assert checksum(site) == before


@pytest.mark.skipif(not ROOT, reason="only root mounts")
def test_what_is_mounted_in_it_is_there_and_protected_too(supervisor: Supervisor, site: Path, tmp_path: Path) -> None:
    disk = site / "many/1/disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "phpdyno-test", disk], check=True)
    try:
        (disk / "on-it").write_text("far")
        with Supervisor(tmp_path / "other-logs") as other:  # what was mounted later than a bottle was made is not in it
            app = prepared(other, app_of(site), tmp_path)
            assert app.written is not None
            assert said(other, app, "cat many/1/disk/on-it; echo new > many/1/disk/on-it") == "far"
        assert (disk / "on-it").read_text() == "far"
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(not ROOT, reason="only root reads on another account's word")
class TestOfAnotherAccount:
    """Root runs it, and the tree and its app.toml are another account's."""

    @pytest.fixture
    def theirs(self, site: Path) -> Path:
        for place in (site.parent, *site.parent.parents):
            if place.stat().st_uid == 0 and str(place).startswith(str(Path(site.parts[0], *site.parts[1:3]))):
                place.chmod(0o755)
        subprocess.run(["chown", "-hR", "games:games", site.parent], check=True)
        return site

    def test_it_is_theirs_to_read_and_the_servers_to_write(self, supervisor: Supervisor, theirs: Path, tmp_path: Path) -> None:
        subprocess.run(["chown", "man:man", theirs / "var"], check=True)
        (theirs / "public" / "index.php").chmod(0o600)
        (theirs.parent / "shared").chmod(0o700)
        described = app_of(theirs)
        shutil.chown(theirs.parent / "app.toml", "games", "games")
        before = checksum(theirs, tmp_path / "shared")
        app = prepared(supervisor, open_again(theirs), tmp_path)
        assert described.name == "large"
        assert app.written is not None
        assert PAGE in said(supervisor, app, ASK)
        assert checksum(theirs, tmp_path / "shared") == before

    def test_what_they_may_not_read_is_not_shown(self, supervisor: Supervisor, theirs: Path, tmp_path: Path) -> None:
        app_of(theirs)
        shutil.chown(theirs.parent / "app.toml", "games", "games")
        secret = theirs / "many/1/secret"
        secret.write_text("x")
        secret.chmod(0o600)
        with pytest.raises(UsageError, match="many/1/secret") as told:
            prepared(supervisor, open_again(theirs), tmp_path)
        assert "games" in str(told.value)

    def test_a_link_of_theirs_reaches_no_further_than_they_do(self, supervisor: Supervisor, theirs: Path, tmp_path: Path) -> None:
        app_of(theirs)
        shutil.chown(theirs.parent / "app.toml", "games", "games")
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o700)
        (closed / "key").write_text("x")
        (theirs / "key").symlink_to(closed)
        subprocess.run(["chown", "-h", "games:games", theirs / "key"], check=True)
        with pytest.raises((UsageError, OSError), match=r"key|closed"):
            prepared(supervisor, open_again(theirs), tmp_path)


def open_again(site: Path) -> FolderApp:
    app = open_app(str(site.parent / "app.toml"))
    assert isinstance(app, FolderApp)
    return app


def test_it_is_compared_and_a_change_of_the_original_meanwhile_is_told(site: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (site / "public" / "index.php").write_text(
        "<?php file_put_contents(__DIR__ . '/../var/count', '1', FILE_APPEND); echo str_repeat('x', 400);"
    )
    (site / "public" / "plain.txt").write_text("plain\n" * 20)
    extra = '[[target]]\npath = "/plain.txt"\n'
    app_of(site)
    with (site.parent / "app.toml").open("a") as described:
        described.write(extra)
    # Slots so long that there is time for the change.
    process = start("compare", site.parent / "app.toml", "--aa", "--slot", "200", *FEWEST, "--budget", "20s", "--runs", runs, "--json")
    await_journal(runs, "block", by=process)
    (site / "public" / "index.php").write_text("<?php echo str_repeat('x', 400);")
    told, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    (incident,) = [each for each in json.loads(told)["incidents"] if each["kind"] == "changed original"]
    assert incident["detail"].startswith(f"{site}/public/index.php changed meanwhile")
    assert not (site / "var" / "count").exists()


@pytest.mark.parametrize("kind", ["whole", "leads out of the repository", "leads elsewhere in it"])
def test_a_commit_of_it_stands_as_the_app_itself_does(supervisor: Supervisor, site: Path, tmp_path: Path, kind: str) -> None:
    """What it leads to elsewhere in its repository is the commit's too, which a copy sees to."""
    elsewhere = kind == "leads elsewhere in it"
    shutil.rmtree(site / ".git")
    for name in ("linked", ".env", "stderr"):
        (site / name).unlink()
    if elsewhere:
        (tmp_path / "repository").mkdir()
        site = site.rename(tmp_path / "repository" / "site")
        (tmp_path / "shared").rename(site.parent / "shared")
    if kind != "whole":
        (site / ".env").symlink_to("../shared/env")
    top = site.parent if elsewhere else site
    git(site.parent, "init", "--quiet", str(top))
    git(top, "add", "-A")
    git(top, "commit", "--quiet", "--message=one")
    commit = git(top, "rev-parse", "HEAD")
    (site / "public" / "index.php").write_text("<?php echo 'not committed';")
    (site.parent / "shared" / "env").write_text("today's")
    app = app_of(site)
    base = prepared(supervisor, app, tmp_path)
    before = checksum(site, site.parent / "shared")
    then = prepare_commit(app, commit, supervisor, cache=tmp_path / "cache", progress=silent, shared=base)
    assert said(supervisor, base, "cat public/index.php") == "<?php echo 'not committed';"
    assert said(supervisor, then, "cat public/index.php; pwd; ls many | wc -l; echo w > public/index.php") == f"{PAGE}{site}\n50\n"
    assert (then.written is None) == elsewhere
    assert (supervisor.live / f"commit-{commit[:12]}").exists() != elsewhere
    if kind != "whole":
        assert said(supervisor, then, "cat .env") == ("A=b\n" if elsewhere else "today's")
    assert said(supervisor, base, "cat public/index.php") == "<?php echo 'not committed';"
    assert checksum(site, site.parent / "shared") == before
