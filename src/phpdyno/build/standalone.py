"""A PHP that stands alone: every extension of the control compiled in, whatever its version. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from phpdyno.build.needs import READY
from phpdyno.build.options import SERVERS


class Compiled(Struct, frozen=True):
    """How an extension of php-src is compiled in, and the Debian packages whose headers that wants."""

    options: tuple[str, ...]
    packages: tuple[str, ...] = ()


def _on(name: str, *packages: str) -> Compiled:
    return Compiled((f"--enable-{name}",), packages)


def _with(name: str, *packages: str) -> Compiled:
    return Compiled((f"--with-{name}",), packages)


IN_SOURCE: dict[str, Compiled] = {
    "bcmath": _on("bcmath"),
    "bz2": _with("bz2", "libbz2-dev"),
    "calendar": _on("calendar"),
    "ctype": _on("ctype"),
    "curl": _with("curl", "libcurl4-openssl-dev"),
    "dba": _on("dba"),
    "dom": _on("dom", "libxml2-dev"),
    "exif": _on("exif"),
    "ffi": _with("ffi", "libffi-dev"),
    "fileinfo": _on("fileinfo"),
    "filter": _on("filter"),
    "ftp": _on("ftp", "libssl-dev"),
    "gd": Compiled(
        ("--enable-gd", "--with-jpeg", "--with-webp", "--with-freetype"),
        ("libgd-dev", "libpng-dev", "libjpeg-dev", "libwebp-dev", "libfreetype-dev"),
    ),
    "gettext": _with("gettext"),
    "gmp": _with("gmp", "libgmp-dev"),
    "iconv": _with("iconv"),
    "intl": _on("intl", "libicu-dev"),
    "ldap": _with("ldap", "libldap-dev"),
    "libxml": _with("libxml", "libxml2-dev"),
    "mbstring": _on("mbstring", "libonig-dev"),
    "mysqli": _with("mysqli"),
    "mysqlnd": _on("mysqlnd"),
    "openssl": _with("openssl", "libssl-dev"),
    "pcntl": _on("pcntl"),
    "pdo": _on("pdo"),
    "pdo_mysql": Compiled(("--enable-pdo", "--with-pdo-mysql")),
    "pdo_pgsql": Compiled(("--enable-pdo", "--with-pdo-pgsql"), ("libpq-dev",)),
    "pdo_sqlite": Compiled(("--enable-pdo", "--with-pdo-sqlite"), ("libsqlite3-dev",)),
    "pgsql": _with("pgsql", "libpq-dev"),
    "phar": _on("phar"),
    "posix": _on("posix"),
    "readline": _with("libedit", "libedit-dev"),
    "session": _on("session"),
    "shmop": _on("shmop"),
    "simplexml": _on("simplexml", "libxml2-dev"),
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
"""Extensions of php-src by the name under which PHP lists them, in lower case."""
ALWAYS = frozenset({"core", "date", "hash", "json", "pcre", "random", "reflection", "spl", "standard", "cgi-fcgi", "zend opcache"})
"""In every PHP, or built besides."""


def standalone_options(extensions: Iterable[str], *, zts: bool = False, ready: bool = False) -> tuple[str, ...]:
    """Configure options of a PHP that has these extensions compiled in; what is not of php-src is left out. `ready`: its php-fpm tells
    systemd when it is."""
    named = sorted({name.lower() for name in extensions})
    chosen = dict.fromkeys(option for name in named if name in IN_SOURCE for option in IN_SOURCE[name].options)
    return ("--disable-all", *chosen, "--enable-opcache", *SERVERS, *(["--enable-zts"] if zts else []), *([READY] if ready else []))


def packages_for(options: Sequence[str]) -> tuple[str, ...]:
    """Debian packages that these options want."""
    return tuple(dict.fromkeys(package for each in IN_SOURCE.values() if set(each.options) <= set(options) for package in each.packages))


def not_in_source(extensions: Iterable[str]) -> tuple[str, ...]:
    """Extensions that no PHP source has: they come from packages of their own."""
    return tuple(sorted(name for name in extensions if name.lower() not in IN_SOURCE and name.lower() not in ALWAYS))
