"""A PHP that stands alone: every extension of the control compiled in, whatever its version.
Pure."""

import platform
from collections.abc import Iterable, Sequence

from msgspec import Struct

from phpdyno.model.build import series_of
from phpdyno.php_build.compile.options import SERVERS
from phpdyno.php_build.source.needs import CXX, READY

THREADS = "--enable-zts"
SEPARATE = "8.3"
"""The last series whose source has the extensions that were moved to PECL then."""
LIBRARIES = f"--with-libdir=lib/{platform.machine()}-linux-gnu"
"""Where Debian's libraries lie, for those checks of configure that ask no pkg-config."""


class Compiled(Struct, frozen=True):
    """How an extension of php-src is compiled in, the Debian packages whose headers that wants, and
    the last series whose source has it, '' where the newest does."""

    options: tuple[str, ...]
    packages: tuple[str, ...] = ()
    until: str = ""

    def is_in(self, version: str) -> bool:
        """Whether the source of a version has it; '' is the newest."""
        return not self.until or (version != "" and _key(version) <= _key(self.until))


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in series_of(version).split(".") if part.isdigit())


def _on(name: str, *packages: str) -> Compiled:
    return Compiled((f"--enable-{name}",), packages)


def _with(name: str, *packages: str, until: str = "") -> Compiled:
    return Compiled((f"--with-{name}",), packages, until)


def _pdo(*options: str, packages: tuple[str, ...] = ()) -> Compiled:
    return Compiled(("--enable-pdo", *options), packages)


IN_SOURCE: dict[str, Compiled] = {
    "bcmath": _on("bcmath"),
    "bz2": _with("bz2", "libbz2-dev"),
    "calendar": _on("calendar"),
    "ctype": _on("ctype"),
    "curl": _with("curl", "libcurl4-openssl-dev"),
    "dba": Compiled(
        (LIBRARIES, "--enable-dba", "--with-db4=/usr", "--with-qdbm=/usr", "--with-lmdb=/usr", "--enable-inifile", "--enable-flatfile"),
        ("libdb-dev", "libqdbm-dev", "liblmdb-dev"),
    ),
    "dom": _on("dom", "libxml2-dev"),
    "enchant": _with("enchant", "libenchant-2-dev"),
    "exif": _on("exif"),
    "ffi": _with("ffi", "libffi-dev"),
    "fileinfo": _on("fileinfo"),
    "filter": _on("filter"),
    "ftp": _on("ftp", "libssl-dev"),
    "gd": Compiled(("--enable-gd", "--with-external-gd"), ("libgd-dev",)),
    "gettext": _with("gettext"),
    "gmp": _with("gmp", "libgmp-dev"),
    "iconv": _with("iconv"),
    "imap": Compiled(
        ("--with-imap", "--with-imap-ssl", "--with-kerberos"), ("libc-client2007e-dev", "libkrb5-dev", "libssl-dev"), SEPARATE
    ),
    "intl": _on("intl", "libicu-dev", CXX),
    "ldap": _with("ldap", "libldap-dev"),
    "libxml": _with("libxml", "libxml2-dev"),
    "mbstring": _on("mbstring", "libonig-dev"),
    "mysqli": _with("mysqli", "zlib1g-dev"),
    "mysqlnd": _on("mysqlnd", "zlib1g-dev"),
    "odbc": _with("unixODBC", "unixodbc-dev"),
    "openssl": _with("openssl", "libssl-dev"),
    "pcntl": _on("pcntl"),
    "pdo": _on("pdo"),
    "pdo_dblib": _pdo("--with-pdo-dblib", LIBRARIES, packages=("freetds-dev",)),
    "pdo_firebird": _pdo("--with-pdo-firebird", packages=("firebird-dev",)),
    "pdo_mysql": _pdo("--with-pdo-mysql", packages=("zlib1g-dev",)),
    "pdo_odbc": _pdo("--with-pdo-odbc=unixODBC,/usr", packages=("unixodbc-dev",)),
    "pdo_pgsql": _pdo("--with-pdo-pgsql", packages=("libpq-dev",)),
    "pdo_sqlite": _pdo("--with-pdo-sqlite", packages=("libsqlite3-dev",)),
    "pgsql": _with("pgsql", "libpq-dev"),
    "phar": _on("phar"),
    "posix": _on("posix"),
    "pspell": _with("pspell", "libpspell-dev", until=SEPARATE),
    "readline": _with("libedit", "libedit-dev"),
    "session": _on("session"),
    "shmop": _on("shmop"),
    "simplexml": _on("simplexml", "libxml2-dev"),
    "snmp": _with("snmp", "libsnmp-dev"),
    "soap": _on("soap", "libxml2-dev"),
    "sockets": _on("sockets"),
    "sodium": _with("sodium", "libsodium-dev"),
    "sqlite3": _with("sqlite3", "libsqlite3-dev"),
    "sysvmsg": _on("sysvmsg"),
    "sysvsem": _on("sysvsem"),
    "sysvshm": _on("sysvshm"),
    "tidy": _with("tidy", "libtidy-dev"),
    "tokenizer": _on("tokenizer"),
    "xml": _on("xml", "libxml2-dev"),
    "xmlreader": _on("xmlreader", "libxml2-dev"),
    "xmlwriter": _on("xmlwriter", "libxml2-dev"),
    "xsl": _with("xsl", "libxslt1-dev"),
    "zip": _with("zip", "libzip-dev"),
    "zlib": _with("zlib", "zlib1g-dev"),
}
"""Extensions of php-src by the name under which PHP lists them, in lower case; each with all that
the distribution's own can."""
ALWAYS = frozenset(
    {
        "core",
        "date",
        "hash",
        "json",
        "lexbor",
        "pcre",
        "random",
        "reflection",
        "spl",
        "standard",
        "uri",
        "cgi-fcgi",
        "zend opcache",
        "opcache",
    }
)
"""In every PHP of a version that has it, or built besides."""


def of_source(extensions: Iterable[str], version: str = "") -> tuple[str, ...]:
    """Those of these extensions that are compiled in from the source of a version ('': the newest),
    in lower case, each once."""
    names = dict.fromkeys(name.lower() for name in extensions)
    return tuple(name for name in names if name in IN_SOURCE and IN_SOURCE[name].is_in(version))


def standalone_options(extensions: Iterable[str], *, version: str = "", zts: bool = False, ready: bool = False) -> tuple[str, ...]:
    """Configure options of a PHP that has these extensions compiled in; what is not of a version's
    source is left out. `ready`: its php-fpm tells systemd when it is."""
    named = sorted(of_source(extensions, version))
    chosen = dict.fromkeys(option for name in named for option in IN_SOURCE[name].options)
    return ("--disable-all", *chosen, "--enable-opcache", *SERVERS, *([THREADS] if zts else []), *([READY] if ready else []))


def packages_for(options: Sequence[str]) -> tuple[str, ...]:
    """Debian packages that these options want."""
    return tuple(dict.fromkeys(package for each in IN_SOURCE.values() if set(each.options) <= set(options) for package in each.packages))


def not_in_source(extensions: Iterable[str], version: str = "") -> tuple[str, ...]:
    """Extensions that the source of a version has not: they come from packages of their own."""
    names = tuple(extensions)
    found = {*of_source(names, version), *ALWAYS}
    return tuple(sorted(name for name in names if name.lower() not in found))
