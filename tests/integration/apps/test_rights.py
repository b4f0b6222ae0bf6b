"""What root reads for an app of somebody else's, with real accounts, git and tar: never more than
that account may read."""

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.apps import folder
from phpdyno.apps.data import databases
from phpdyno.apps.files import copies, rights
from phpdyno.apps.files.revisions import prepare_commit, repository_of
from phpdyno.apps.folder import FolderApp
from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.config import trusted
from phpdyno.errors import DynoError, UsageError
from phpdyno.explain.tracing.syscalls import tracing
from phpdyno.paths import service_user
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.integration.apps.test_layers import git

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="only root can read what others may not")]

TOML = """name = "shop"
docroot = "public"
root = "."
[[target]]
path = "/"
"""
BOB = pwd.getpwnam("games")
"""Any account but ours and the servers'."""


@pytest.fixture
def home() -> Iterator[Path]:
    """Bob's, with an app; below /tmp, since he cannot pass pytest's own directory."""
    home = Path(tempfile.mkdtemp(prefix="pd-rights-", dir="/tmp"))
    (home / "shop/public").mkdir(parents=True)
    (home / "shop/app.toml").write_text(TOML)
    (home / "shop/public/index.php").write_text("<?php echo 1;")
    (home / "secret").write_text("root's")
    (home / "shared").mkdir()
    (home / "shared/logo").write_text("bob's")
    home.chmod(0o755)
    yield home
    shutil.rmtree(home)


def give(*trees: Path, uid: int = BOB.pw_uid) -> None:
    for tree in trees:
        for path in (tree, *tree.rglob("*")):
            os.lchown(path, uid, BOB.pw_gid)


def prepared(home: Path, tmp_path: Path, supervisor: Supervisor) -> Path:
    return open_app(str(home / "shop")).prepare(supervisor, cache=tmp_path / "cache", progress=silent).copied_docroot


@pytest.mark.parametrize("kind", ["file", "in a directory", "behind another link", "below a closed directory"])
def test_a_link_leads_no_further_than_its_owner_may_read(home: Path, tmp_path: Path, kind: str) -> None:
    secret, link = home / "secret", home / "shop/public/x"
    secret.chmod(0o600)
    match kind:
        case "file":
            link.symlink_to(secret)
        case "in a directory":
            secret.rename(home / "shared/secret")
            link.symlink_to(home / "shared")
        case "behind another link":
            (home / "hop").symlink_to(secret)
            link.symlink_to(home / "hop")
        case _:
            (home / "closed").mkdir(mode=0o700)
            secret.rename(home / "closed/secret")
            (home / "closed/secret").chmod(0o644)
            link.symlink_to(home / "closed/secret")
    give(home / "shop")
    with (
        Supervisor(tmp_path / "logs") as supervisor,
        pytest.raises(UsageError, match=f"{BOB.pw_name}, who owns it, may not read") as caught,
    ):
        prepared(home, tmp_path, supervisor)
    assert str(caught.value).startswith(f"{link}: this link leads to ")
    assert "measure a copy of the app without this link" in str(caught.value)


def test_what_the_owner_may_read_is_copied(home: Path, tmp_path: Path) -> None:
    shared = home / "shared"
    (shared / "-dash").write_text("1")
    (shared / "again").hardlink_to(shared / "logo")
    (shared / "inner").symlink_to("logo")
    (shared / "own").write_text("for bob alone")
    give(shared)
    (shared / "own").chmod(0o600)
    for name, target in {"a": shared, "b": shared / "logo", "c": shared / "-dash"}.items():
        (home / "shop/public" / name).symlink_to(target)
    give(home / "shop")
    with Supervisor(tmp_path / "logs") as supervisor:
        docroot = prepared(home, tmp_path, supervisor)
        assert (docroot / "a/own").read_text() == "for bob alone"
        assert (docroot / "a/inner").read_text() == (docroot / "b").read_text() == "bob's"
        assert (docroot / "c").read_text() == "1"
        assert (docroot / "a/inner").resolve().is_relative_to(docroot.resolve())
        assert {path.lstat().st_uid for path in docroot.rglob("*")} == {supervisor.user.uid}
        assert list(supervisor.live.glob("linked-*")) == []


def test_a_link_of_root_s_own_leads_where_root_may_read(home: Path, tmp_path: Path) -> None:
    (home / "secret").chmod(0o600)
    (home / "shop/public/x").symlink_to(home / "secret")
    with Supervisor(tmp_path / "logs") as supervisor:
        assert (prepared(home, tmp_path, supervisor) / "x").read_text() == "root's"


def test_a_link_of_root_s_in_somebody_else_s_directory_is_his(home: Path, tmp_path: Path) -> None:
    """He could put another one there while it is read."""
    (home / "secret").chmod(0o600)
    give(home / "shop")
    (home / "shop/public/x").symlink_to(home / "secret")
    with Supervisor(tmp_path / "logs") as supervisor, pytest.raises(UsageError, match="may not read"):
        prepared(home, tmp_path, supervisor)


@pytest.fixture
def root_alone(home: Path) -> Path:
    """A directory that bob cannot read, with an app and a dump in it."""
    closed = home / "root"
    shutil.copytree(home / "shop/public", closed / "public")
    (closed / "dump.sql").write_text("SELECT 'secret';")
    (closed / "dump.sql").chmod(0o600)
    closed.chmod(0o700)
    return closed


def described(home: Path, text: str) -> None:
    (home / "shop/app.toml").write_text(TOML.replace('docroot = "public"\nroot = "."', text))


@pytest.mark.parametrize("kind", ["named", "behind a link", "a file in it", "everybody's app.toml", "an app.toml behind bob's link"])
def test_a_root_that_bob_names_is_read_with_his_rights(home: Path, root_alone: Path, tmp_path: Path, kind: str) -> None:
    described(home, f'docroot = "{root_alone}/public"\nroot = "{root_alone}"')
    match kind:
        case "named":
            give(home / "shop")
        case "behind a link":
            shutil.rmtree(home / "shop/public")
            (home / "shop/public").symlink_to(root_alone / "public")
            described(home, 'docroot = "public"')
            os.lchown(home / "shop/public", BOB.pw_uid, BOB.pw_gid)  # the app.toml is root's
        case "a file in it":
            root_alone.chmod(0o755)
            give(home / "shop")
        case "everybody's app.toml":
            (home / "shop/app.toml").chmod(0o666)
        case _:
            (home / "shop/app.toml").rename(home / "real.toml")
            (home / "shop/app.toml").symlink_to(home / "real.toml")
            os.lchown(home / "shop/app.toml", BOB.pw_uid, BOB.pw_gid)
    who = "nobody" if kind == "everybody's app.toml" else BOB.pw_name
    with Supervisor(tmp_path / "logs") as supervisor:
        with pytest.raises(UsageError, match=rf"app\.toml: root .*on the word of {who}, who may not read all of it: .*ermission denied"):
            prepared(home, tmp_path, supervisor)
        assert not any("SELECT" in path.read_text() for path in supervisor.live.rglob("*.sql"))


def test_a_link_of_root_s_in_a_root_that_bob_names_is_followed_with_his_rights(home: Path, root_alone: Path, tmp_path: Path) -> None:
    public = home / "open"
    public.mkdir()
    (public / "index.php").write_text("1")
    (public / "x").symlink_to(root_alone / "dump.sql")
    described(home, f'docroot = "{public}"')
    give(home / "shop")
    with Supervisor(tmp_path / "logs") as supervisor, pytest.raises(UsageError, match=f"{BOB.pw_name}, on whose word .*, may not read"):
        prepared(home, tmp_path, supervisor)


@pytest.mark.parametrize("link", [False, True])
def test_a_dump_that_bob_names_is_read_with_his_rights(home: Path, root_alone: Path, tmp_path: Path, link: bool) -> None:
    described(home, 'docroot = "public"\nsql = "dump.sql"' if link else f'docroot = "public"\nsql = "{root_alone}/dump.sql"')
    if link:
        (home / "shop/dump.sql").symlink_to(root_alone / "dump.sql")
        os.lchown(home / "shop/dump.sql", BOB.pw_uid, BOB.pw_gid)
    else:
        os.chown(home / "shop/app.toml", BOB.pw_uid, BOB.pw_gid)
    with (
        Supervisor(tmp_path / "logs") as supervisor,
        pytest.raises(UsageError, match=rf"app\.toml: sql .*on the word of {BOB.pw_name}, who may not read all of it: .*ermission denied"),
    ):
        prepared(home, tmp_path, supervisor)


@pytest.mark.parametrize("uid", [BOB.pw_uid, 54321])
def test_a_dump_and_a_root_of_bob_s_own_are_copied(home: Path, tmp_path: Path, uid: int) -> None:
    """Also where he is only a number, as in a container."""
    described(home, 'docroot = "public"\nroot = "."\nsql = "dump.sql"')
    (home / "shop/dump.sql").write_text("CREATE TABLE shop (id INT);")
    (home / "shop/.git").mkdir()
    (home / "shop/public/[x]").write_text("1")
    give(home / "shop", uid=uid)
    (home / "shop/dump.sql").chmod(0o600)
    with Supervisor(tmp_path / "logs") as supervisor:
        docroot = prepared(home, tmp_path, supervisor)
        assert sorted(path.name for path in docroot.parent.iterdir()) == ["app.toml", "dump.sql", "public"]
        assert sorted(path.name for path in docroot.iterdir()) == ["[x]", "index.php"]
        assert list(supervisor.live.glob("named-*")) == []


@pytest.mark.parametrize("caller", [0, BOB.pw_uid])
def test_root_and_whoever_called_sudo_name_what_they_like(
    home: Path, root_alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caller: int
) -> None:
    """The site's tree is somebody else's, with a file that only its own account and root can
    read."""
    described(home, f'docroot = "{root_alone}/public"\nroot = "{root_alone}"')
    for path in (home / "shop", root_alone / "public", root_alone / "public/index.php"):
        os.chown(path, 33, 33)
    (root_alone / "public/index.php").chmod(0o600)
    os.chown(home / "shop/app.toml", caller, -1)
    monkeypatch.setenv("SUDO_UID", str(BOB.pw_uid))
    with Supervisor(tmp_path / "logs") as supervisor:
        assert (prepared(home, tmp_path, supervisor) / "index.php").read_text() == "<?php echo 1;"


def test_a_link_of_bob_s_to_what_is_his_hides_nothing_from_root(home: Path, tmp_path: Path) -> None:
    """As deploying tools keep a site: `current` leads to one of its releases."""
    (home / "shop").rename(home / "release")
    (home / "shop").symlink_to("release")
    give(home / "release", home / "shop")
    os.chown(home / "release/app.toml", 0, 0)
    for owner, path in ((33, home / "release/public/index.php"), (BOB.pw_uid, home)):
        os.chown(path, owner, owner)
    (home / "release/public/index.php").chmod(0o600)
    with Supervisor(tmp_path / "logs") as supervisor:
        assert (prepared(home, tmp_path, supervisor) / "index.php").is_file()


def test_a_repository_of_root_s_is_not_exported_on_bob_s_word(home: Path) -> None:
    git(home, "init", "--quiet", str(home / "shop"))
    os.chown(home / "shop/app.toml", BOB.pw_uid, BOB.pw_gid)
    with pytest.raises(UsageError, match=r"git would read .* as root, who owns it, on another account's word"):
        repository_of(open_app(str(home / "shop")), where="source=HEAD")


def committed(home: Path) -> str:
    git(home, "init", "--quiet", str(home / "shop"))
    git(home / "shop", "add", "-A")
    git(home / "shop", "commit", "--quiet", "--message=one")
    give(home / "shop")
    return git(home / "shop", "rev-parse", "HEAD")


def test_a_link_in_a_commit_is_the_repository_s_owner_s(home: Path, tmp_path: Path) -> None:
    (home / "secret").chmod(0o600)
    (home / "shop/public/x").symlink_to(home / "secret")
    commit = committed(home)
    (home / "shop/public/x").unlink()
    with Supervisor(tmp_path / "logs") as supervisor, pytest.raises(UsageError, match="may not read"):
        prepare_commit(open_app(str(home / "shop")), commit, supervisor, cache=tmp_path / "cache", progress=silent)


def test_a_commit_runs_no_filter_and_its_own_links_are_followed(home: Path, tmp_path: Path) -> None:
    """The app's root is a part of the repository, and a link leads from it to another part."""
    shop = home / "shop"
    (shop / "app.toml").write_text(TOML.replace('root = "."', 'root = "site"').replace('"public"', '"site/public"'))
    (shop / "site").mkdir()
    (shop / "public").rename(shop / "site/public")
    (shop / "lib").mkdir()
    (shop / "lib/part.php").write_text("as committed")
    (shop / "site/lib").symlink_to("../lib")
    (shop / ".gitattributes").write_text("*.php filter=evil.x=y\n*.toml filter=long\n")
    commit = committed(home)
    note = home / "shop/ran"
    git(shop, "config", "filter.evil.x=y.smudge", f"touch {note}; tr a-z A-Z")
    git(shop, "config", "filter.evil.x=y.required", "true")
    git(shop, "config", "filter.long.process", f"touch {note}")
    with Supervisor(tmp_path / "logs") as supervisor:
        then = prepare_commit(open_app(str(shop)), commit, supervisor, cache=tmp_path / "cache", progress=silent)
        assert (then.copied_docroot.parent / "lib/part.php").read_text() == "as committed"
        assert (then.copied_docroot / "index.php").read_text() == "<?php echo 1;"
    assert not note.exists()


def test_git_runs_as_the_owner_alone(home: Path) -> None:
    commit = committed(home)
    app = open_app(str(home / "shop"))
    assert repository_of(app, where="source=HEAD").commit("HEAD", where="source=HEAD") == commit
    os.chown(home / "shop", 54321, 54321)
    with pytest.raises(UsageError, match="belongs to account number 54321, which this machine does not know"):
        repository_of(app, where="source=HEAD")
    os.chown(home / "shop", pwd.getpwnam("nobody").pw_uid, 0)
    shutil.move(home / "shop/.git", home / "git")
    (home / "shop/.git").mkdir()
    for entry in (home / "git").iterdir():
        shutil.move(entry, home / "shop/.git")
    with pytest.raises(UsageError, match="belongs to another account"):
        repository_of(app, where="source=HEAD")


def test_strace_follows_no_link_of_the_servers_account(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("whole")
    with Supervisor(tmp_path / "logs") as supervisor:
        # It forks nothing: of what forks all the time strace does not always get loose.
        sleeper = supervisor.spawn("sleeper", ["php", "-n", "-r", "while (true) usleep(10_000);"])
        laid = supervisor.run("lay", ["ln", "-s", str(victim), str(supervisor.live / "strace" / "summary")])
        assert laid.status != 0
        with tracing(supervisor, [sleeper.pid]):
            held = (supervisor.live / "strace").stat()
            assert (held.st_uid, held.st_mode & 0o777) == (0, 0o700)
            supervisor.run("pause", ["sleep", "0.3"])  # strace has a table only of what was called
            assert supervisor.run("lay", ["ln", "-s", str(victim), str(supervisor.live / "strace" / "summary")]).status != 0
    assert victim.read_text() == "whole"


def test_a_log_that_is_a_link_is_one_line(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("whole")
    with Supervisor(tmp_path / "logs") as supervisor:
        (tmp_path / "logs/echo.log").symlink_to(victim)
        with pytest.raises(Exception, match=r"echo.log: cannot start echo"):
            supervisor.run("echo", ["echo", "torn"])
    assert victim.read_text() == "whole"
    assert victim.stat().st_uid == 0


PREPARE = """[ -z "$(find "${PHP_INI_SCAN_DIR#:}" -writable)" ] || exit 3
rm -f "$HOME/phpdyno.ini"
ln -s %s "$HOME/phpdyno.ini"
"""


def test_what_a_prepare_command_leaves_in_its_home_leads_root_nowhere(home: Path, tmp_path: Path) -> None:
    """Nor may it write where the settings lie that the next one is started with, as for a commit of
    an arm's."""
    victim = home / "secret"
    (home / "prepare.sh").write_text(PREPARE % victim)
    described(home, f'docroot = "public"\nprepare = ["sh", "{home}/prepare.sh"]')
    app = open_app(str(home / "shop"))
    with Supervisor(tmp_path / "logs") as supervisor:
        for place in ("app", "app-2"):
            assert isinstance(app, FolderApp)
            app.prepare(supervisor, cache=tmp_path / "cache", progress=silent, place=place)
        (link,) = [path for path in supervisor.live.rglob("phpdyno.ini") if path.is_symlink()]
        assert link.lstat().st_uid == service_user().uid
    assert victim.read_text() == "root's"


def test_a_directory_of_the_servers_account_is_made_through_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o750)
    with Supervisor(tmp_path / "logs") as supervisor:
        place = supervisor.directory("outer", private=False)
        assert supervisor.run("lay", ["ln", "-s", str(victim), str(place / "inner")]).status == 0
        with pytest.raises(DynoError, match="cannot make this directory for the servers"):
            supervisor.directory("outer/inner")
        assert supervisor.directory("outer", private=False) == place
    assert (victim.stat().st_uid, victim.stat().st_mode & 0o777) == (0, 0o750)


def test_a_tree_of_bob_s_that_root_names_is_read_through_none_of_his_links(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He puts one in a directory's place once root has begun to read."""
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    (closed / "index.php").write_text("root's secret")
    give(home / "shop")
    os.chown(home / "shop/app.toml", 0, 0)
    public, honest = home / "shop/public", copies.copy_entries

    def copy_entries(supervisor: Supervisor, entries: list[Path], into: Path) -> None:
        shutil.rmtree(public)
        public.symlink_to(closed)
        os.lchown(public, BOB.pw_uid, BOB.pw_gid)
        honest(supervisor, [each / "index.php" if each == public else each for each in entries], into)

    monkeypatch.setattr(copies, "copy_entries", copy_entries)
    with Supervisor(tmp_path / "logs") as supervisor:
        with pytest.raises(DynoError, match="another account can have put this link there"):
            prepared(home, tmp_path, supervisor)
        assert not any("secret" in path.read_text() for path in supervisor.live.rglob("*.php"))


def test_a_copy_is_closed_to_the_servers_until_it_is_complete(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "shop/var").mkdir()
    (home / "shop/var").chmod(0o777)
    seen: list[int | None] = []

    def mend_links(copy: Path, *_: object, **__: object) -> None:
        seen.append(supervisor.run("look", ["ls", str(copy)]).status)

    monkeypatch.setattr(folder, "mend_links", mend_links)
    with Supervisor(tmp_path / "logs") as supervisor:
        docroot = prepared(home, tmp_path, supervisor)
        assert seen != [0]
        assert supervisor.run("look", ["ls", str(docroot)]).status == 0


def test_a_dump_of_bob_s_that_becomes_a_link_is_not_read(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described(home, 'docroot = "public"\nsql = "dump.sql"')
    dump = home / "shop/dump.sql"
    dump.write_text("SELECT 1;")
    give(home / "shop")
    os.chown(home / "shop/app.toml", 0, 0)
    read: list[bytes] = []
    honest = trusted.led_by

    def led_by(path: Path) -> tuple[Path, int]:
        led = honest(path)
        if path == dump and flips:
            dump.unlink()
            dump.symlink_to(home / "secret")
        return led

    def seeded(*_: object, dump: Path, **__: object) -> Path:
        read.append(dump.read_bytes())
        raise RuntimeError("read")

    monkeypatch.setattr(rights, "led_by", led_by)
    monkeypatch.setattr(databases, "seeded", seeded)
    for flips, kind, words in ((False, RuntimeError, "read"), (True, DynoError, "sql .*cannot be read")):
        with Supervisor(tmp_path / f"logs-{flips}") as supervisor, pytest.raises(kind, match=words):
            prepared(home, tmp_path, supervisor)
    assert read == [b"SELECT 1;"]
