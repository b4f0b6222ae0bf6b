"""Debian packages that compiling PHP wants: the tools, and the headers of what its options name."""

from collections.abc import Callable, Collection, Mapping, Sequence

from phpdyno.errors import DynoError
from phpdyno.host.checkup.check import install
from phpdyno.servers.programs.finding import told

CXX = "g++"
"""What is written in C++ wants it: PHP's own intl, and some extensions."""
TOOLS = ("gcc", "libc6-dev", "make", "pkg-config", "autoconf", "dpkg-dev")
"""Without what they recommend: gcc then comes without the headers of C itself."""
OF_A_CHECKOUT = ("bison", "re2c")
"""What a release has made already: the parsers."""
READY = "--with-fpm-systemd"
"""php-fpm tells systemd when it is."""
HEADERS = {
    "--with-libxml": "libxml2-dev",
    "--with-openssl": "libssl-dev",
    "--with-external-pcre": "libpcre2-dev",
    "--with-zlib": "zlib1g-dev",
    "--with-sodium": "libsodium-dev",
    "--with-password-argon2": "libargon2-dev",
    "--with-kerberos": "libkrb5-dev",
    "--with-libedit": "libedit-dev",
    "--with-readline": "libreadline-dev",
    READY: "libsystemd-dev",
    "--with-fpm-acl": "libacl1-dev",
    "--with-fpm-apparmor": "libapparmor-dev",
    "--with-fpm-selinux": "libselinux1-dev",
}
"""By configure option. Options of shared extensions are not here: a drop-in leaves these to the
distribution."""
AS_GOOD: Mapping[str, tuple[str, ...]] = {
    "pkg-config": ("pkgconf",),
    "libcurl4-openssl-dev": ("libcurl4-gnutls-dev", "libcurl4-nss-dev"),
}
"""Packages that do as well as the one that is named."""


def needed(options: Sequence[str]) -> tuple[str, ...]:
    """Packages that these configure options want, tools first."""
    names = [option.partition("=")[0] for option in options]
    return tuple(dict.fromkeys((*TOOLS, *(package for name, package in HEADERS.items() if name in names))))


def missing_of(wanted: Sequence[str], installed: Callable[[Sequence[str]], Collection[str]] | None = None) -> tuple[str, ...]:
    """Those of these packages that are not installed, nor one that does as well; `installed` tells
    of some packages which are."""
    as_good = {package: (package, *AS_GOOD.get(package, ())) for package in wanted}
    there = (installed or installed_of)([each for names in as_good.values() for each in names])
    return tuple(package for package, names in as_good.items() if not any(name in there for name in names))


def require_packages(wanted: Sequence[str], installed: Callable[[Sequence[str]], Collection[str]] | None = None) -> None:
    """Raises DynoError with the line that installs those packages which are missing."""
    missing = missing_of(wanted, installed)
    if missing:
        raise DynoError(f"compiling PHP needs {', '.join(missing)}", next_step=f"install it with: {install(*missing)}")


def installed_of(packages: Sequence[str]) -> frozenset[str]:
    """Those of these packages that dpkg has, whole."""
    if not packages:
        return frozenset()
    # Of each that it does not know it complains, and tells of the others all the same.
    told_of = told(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages]).stdout.decode(errors="replace")
    return frozenset(name for name, _, state in (line.partition(" ") for line in told_of.splitlines()) if state == "installed")
