"""What is read of a dump before it is loaded."""

import pytest

from phpdyno.apps.data.postgres_seed import Named, names_in
from phpdyno.apps.data.redis_seed import words_of
from phpdyno.servers.services.postgresql import identifier

PG_DUMP = b'''CREATE SCHEMA sales;
ALTER SCHEMA sales OWNER TO Seller;
ALTER TABLE ONLY public.t OWNER TO "Big ""Boss""";
GRANT SELECT ON TABLE public.t TO reader;
GRANT ALL ON SCHEMA public TO PUBLIC;
GRANT writer TO seller WITH ADMIN OPTION;
REVOKE ALL ON SCHEMA public FROM postgres;
ALTER DEFAULT PRIVILEGES FOR ROLE migrator IN SCHEMA public GRANT SELECT ON TABLES TO reader;
CREATE POLICY mine ON public.t TO tenant USING (true);
GRANT pg_read_all_data TO auditor;
SELECT 'GRANT x TO y;';
'''


def test_roles_that_a_dump_takes_for_granted() -> None:
    named = names_in(PG_DUMP.splitlines(keepends=True))
    assert set(named.roles) == {"seller", 'Big "Boss"', "reader", "postgres", "migrator", "tenant", "auditor"}
    assert (named.made_roles, named.made_databases) == (frozenset(), frozenset())


def test_what_a_dump_of_a_whole_server_makes_itself() -> None:
    lines = [b"CREATE ROLE shop;\n", b"ALTER ROLE shop WITH LOGIN;\n", b'CREATE DATABASE "my shop" WITH TEMPLATE = template0;\n']
    assert names_in(lines) == Named((), frozenset({"shop"}), frozenset({"my shop"}))


def test_a_name_in_quotes() -> None:
    assert identifier('a"; DROP ROLE b; --') == '"a""; DROP ROLE b; --"'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"SET a 1\r\n", [b"SET", b"a", b"1"]),
        (b'  SET  "a b"\t"x\\n\\x00\\"\\\\"  ', [b"SET", b"a b", b'x\n\x00"\\']),
        (b"SET 'it\\'s' \"\"", [b"SET", b"it's", b""]),
        (b"\n", []),
        (b'SET "a', None),
        (b'SET "a"b', None),
        (b'SET a"b', None),
    ],
)
def test_words_of_a_command(line: bytes, words: list[bytes] | None) -> None:
    assert words_of(line) == words
