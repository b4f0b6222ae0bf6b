"""The `[service.NAME]` tables of an app.toml."""

from pathlib import Path

import pytest

from phpdyno.apps.folder import FolderApp
from phpdyno.config.app_toml import AppFile, load_app_toml
from phpdyno.config.services import refuse_root_variables
from phpdyno.errors import UsageError
from phpdyno.model.services.service import Service, Tcp, UnixSocket

VARIABLE = "{env.CACHE}"
BASE = 'name = "shop"\ndocroot = "."\n[[target]]\npath = "/"\n'


def load(folder: Path, text: str) -> AppFile:
    path = folder / "app.toml"
    path.write_text(BASE + text)
    return load_app_toml(path)


def service(folder: Path, text: str, name: str = "db") -> Service:
    (found,) = load(folder, f"[service.{name}]\n{text}\n").services
    return found


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load(folder, text)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'app.toml'}: service.")
    return message.removeprefix(f"{folder / 'app.toml'}: service.")


def test_an_app_without_services(tmp_path: Path) -> None:
    assert load(tmp_path, "").services == ()


def test_everything_that_a_service_may_say(tmp_path: Path) -> None:
    both = (
        '[service.db]\nkind = "postgresql"\nat = ["DB.internal:5433", "10.0.0.5:5433", "/run/pg"]\n'
        'dump = "data/shop.sql.gz"\ndatabase = "shop"\nusers = ["shop", "report"]\n'
        '[service.cache]\nkind = "redis"\nat = "cache"\npassword = "{env.CACHE}"\n'
    )
    assert load(tmp_path, both).services == (
        Service(
            "db",
            "postgresql",
            (Tcp("db.internal", 5433), Tcp("10.0.0.5", 5433), UnixSocket(Path("/run/pg/.s.PGSQL.5433"))),
            tmp_path / "data/shop.sql.gz",
            "shop",
            ("shop", "report"),
        ),
        Service("cache", "redis", (Tcp("cache", 6379),), password=VARIABLE),
    )


@pytest.mark.parametrize(
    ("kind", "at", "means"),
    [
        ("mariadb", "db", Tcp("db", 3306)),
        ("mariadb", "db.:3307", Tcp("db", 3307)),
        ("mariadb", "/run/mysqld/mysqld.sock", UnixSocket(Path("/run/mysqld/mysqld.sock"))),
        ("postgresql", "localhost", Tcp("localhost", 5432)),
        ("postgresql", "/run/postgresql", UnixSocket(Path("/run/postgresql/.s.PGSQL.5432"))),
        ("redis", "/var/run/redis/redis.sock", UnixSocket(Path("/run/redis/redis.sock"))),
        ("postgresql", "/run/pg/.s.PGSQL.6000", UnixSocket(Path("/run/pg/.s.PGSQL.6000"))),
        ("redis", "[fd00:0::5]:7000", Tcp("fd00::5", 7000)),
        ("redis", "[fd00::5]", Tcp("fd00::5", 6379)),
        ("memcached", "fd00::5", Tcp("fd00::5", 11211)),
        ("smtp-sink", "mail", Tcp("mail", 25)),
    ],
)
def test_an_address(tmp_path: Path, kind: str, at: str, means: Tcp | UnixSocket) -> None:
    assert service(tmp_path, f'kind = "{kind}"\nat = "{at}"').at == (means,)


def test_an_address_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    assert service(tmp_path, 'kind = "redis"\nat = ["cache", "CACHE:6379"]').at == (Tcp("cache", 6379),)


def test_localhost_means_the_usual_socket_to_clients_of_mysql(tmp_path: Path) -> None:
    both = (Tcp("localhost", 3306), UnixSocket(Path("/run/mysqld/mysqld.sock")))
    assert service(tmp_path, 'kind = "mariadb"\nat = "localhost"').at == both
    assert service(tmp_path, 'kind = "mariadb"\nat = ["localhost", "/tmp/s"]').at == (both[0], UnixSocket(Path("/tmp/s")))
    assert service(tmp_path, 'kind = "mariadb"\nat = "127.0.0.1"').at == (Tcp("127.0.0.1", 3306),)
    assert service(tmp_path, 'kind = "mariadb"\nat = "localhost:3307"').at == (Tcp("localhost", 3307),)
    assert service(tmp_path, 'kind = "redis"\nat = "localhost"').at == (Tcp("localhost", 6379),)


def test_memcached_and_the_sink_may_have_several_ports(tmp_path: Path) -> None:
    assert len(service(tmp_path, 'kind = "memcached"\nat = ["a:1", "a:2"]').at) == 2
    assert len(service(tmp_path, 'kind = "smtp-sink"\nat = ["mail:25", "mail:587", "/run/smtp.sock"]').at) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[service.db]\nkind = "mariadb"\n', 'db: misses the key at; write the address that the app has: at = "db.internal:3306"'),
        ('[service.db]\nat = "db"\n', "db: misses the key kind; write one of mariadb, postgresql, redis, memcached, smtp-sink"),
        ('[service.db]\nkind = "mariadb"\nat = []\n', "db.at: there is no address"),
        ('[service.db]\nkind = "mariadb"\nat = 3306\n', "db.at: Expected str | array, got int"),
        ('[service.db]\nkind = "mysql"\nat = "db"\n', "db.kind: there is no kind 'mysql'; write mariadb"),
        ('[service.db]\nkind = "postgres"\nat = "db"\n', "db.kind: there is no kind 'postgres'; write postgresql"),
        ('[service.db]\nkind = "oracle"\nat = "db"\n', "; known: mariadb, memcached, postgresql, redis, smtp-sink"),
        ('[service.db]\nkind = "redis"\nat = "db"\ndumb = "x"\n', "db.dumb: unknown key; did you mean service.db.dump?"),
        ('[service."a b"]\nkind = "redis"\nat = "db"\n', "a b: 'a b' cannot name a service; begin with a letter"),
        ('[service.db]\nkind = "redis"\nat = "db:0"\n', "db.at: '0' is no port; use 1 to 65535"),
        ('[service.db]\nkind = "redis"\nat = "db:65536"\n', "'65536' is no port"),
        ('[service.db]\nkind = "redis"\nat = ["db", "db:"]\n', "db.at[1]: '' is no port"),
        ('[service.db]\nkind = "redis"\nat = "run/redis.sock"\n', "db.at: the socket's path 'run/redis.sock' does not start with '/'"),
        ('[service.db]\nkind = "redis"\nat = "/run/../x"\n', "is no path of a socket"),
        (f'[service.db]\nkind = "redis"\nat = "/{"x" * 107}"\n', "a socket's path holds 107 bytes"),
        ('[service.db]\nkind = "redis"\nat = "redis://db"\n', "'redis://db' is a URL; write host and port alone"),
        ('[service.db]\nkind = "redis"\nat = "10.0.0.256"\n', "'10.0.0.256' is no host"),
        ('[service.db]\nkind = "redis"\nat = "-a"\n', "'-a' is no host"),
        ('[service.db]\nkind = "redis"\nat = "a\\nb"\n', "is no host"),
        ('[service.db]\nkind = "redis"\nat = "0.0.0.0"\n', "0.0.0.0 is no address that an app connects to"),
        ('[service.db]\nkind = "redis"\nat = "[fe80::1%eth0]"\n', "names a network interface"),
        ('[service.db]\nkind = "mariadb"\nat = ["a:1", "b:2"]\n', "db.at: one mariadb listens on one port, and these are 1, 2"),
        ('[service.db]\nkind = "postgresql"\nat = ["a", "/p/.s.PGSQL.1"]\n', "one postgresql listens on one port, and these are 1, 5432"),
        ('[service.db]\nkind = "memcached"\nat = ["a", "/p/m"]\n', "one memcached listens on TCP or on a socket"),
        ('[service.m]\nkind = "memcached"\nat = "a"\ndump = "x"\n', "m.dump: memcached keeps nothing that a dump could fill; leave it out"),
        ('[service.m]\nkind = "smtp-sink"\nat = "a"\ndump = "x"\n', "m.dump: smtp-sink keeps nothing"),
        ('[service.r]\nkind = "redis"\nat = "a"\ndatabase = "x"\n', "r.database: redis has no databases with names"),
        ('[service.r]\nkind = "mariadb"\nat = "a"\ndatabase = "a`"\n', "r.database: 'a`' is no plain database name"),
        ('[service.r]\nkind = "mariadb"\nat = "a"\nusers = ["u"]\n', "r.users: mariadb takes any user and password as it is"),
        ('[service.r]\nkind = "redis"\nat = "a"\nusers = ["a b"]\n', "r.users: 'a b' is no user's name"),
        ('[service.r]\nkind = "postgresql"\nat = "a"\npassword = "u"\n', "r.password: postgresql takes any password as it is"),
        ('[service.r]\nkind = "redis"\nat = "a"\npassword = "a\\nb"\n', "r.password: the password is empty or holds a control character"),
        (
            '[service.a]\nkind = "redis"\nat = "localhost"\n[service.b]\nkind = "redis"\nat = ["x", "127.0.0.1"]\n',
            "b.at: service.a stands at 127.0.0.1:6379 as well; keep one of the two",
        ),
        (
            '[service.a]\nkind = "mariadb"\nat = "/run/s"\n[service.b]\nkind = "redis"\nat = "/run/s"\n',
            "b.at: service.a stands at /run/s as well",
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text)


def test_a_service_that_is_no_table(tmp_path: Path) -> None:
    assert "db: Expected object, got int" in refusal(tmp_path, "[service]\ndb = 1\n")


def test_a_dump_that_is_not_there(tmp_path: Path) -> None:
    app = load(tmp_path, '[service.db]\nkind = "mariadb"\nat = "db"\ndump = "shop.sql"\n')
    with pytest.raises(UsageError, match=r"app\.toml: service\.db\.dump .*/shop\.sql: there is no such dump"):
        FolderApp(app)
    (tmp_path / "shop.sql").mkdir()
    with pytest.raises(UsageError, match="there is no such dump"):
        FolderApp(app)
    (tmp_path / "shop.sql").rmdir()
    (tmp_path / "shop.sql").touch()
    assert FolderApp(app).name == "shop"


def test_a_variable_of_roots_is_not_for_the_file_of_another_account() -> None:
    services = (Service("cache", "redis", (Tcp("cache", 6379),), password=VARIABLE),)
    refuse_root_variables(services, 0, Path("app.toml"))
    with pytest.raises(UsageError, match=r"app\.toml: service\.cache\.password: {env\.CACHE} is a variable of root's"):
        refuse_root_variables(services, 1000, Path("app.toml"))
