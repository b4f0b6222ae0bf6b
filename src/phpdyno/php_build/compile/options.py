"""Configure options of a PHP that is there, as a drop-in for it is configured. Pure.

A drop-in has the same static core and loads the distribution's own shared extensions, so what
the distribution builds as a shared extension is left out, opcache excepted.
"""

import re
import shlex
from collections.abc import Sequence

from phpdyno.errors import DynoError

DROPPED = ("--with-pic", "--enable-dtrace", "--disable-cgi", "--disable-fpm", "--disable-cli", "--with-apxs2", "--enable-embed")
"""Position-independent code costs a register where it is not needed; the probes of dtrace are
in every call; the rest chooses servers."""
OF_THE_PACKAGER = ("--config-cache", "--cache-file")
"""Files of the host that Debian's package was built on."""
OF_THE_COMMAND_LINE = ("--enable-pcntl", "--with-libedit", "--with-readline")
"""php-config tells the options of the command line's PHP, which has these; php-fpm does not."""
OF_LIBRARIES = {"libapparmor.so": "--with-fpm-apparmor", "libselinux.so": "--with-fpm-selinux"}
"""Options of php-fpm that its command line's php-config does not tell, by the library that they
link it with."""
SERVERS = ("--enable-cli", "--enable-cgi", "--enable-fpm", "--disable-phpdbg")
OF_DEBHELPER = ("option-checking", "silent-rules", "maintainer-mode", "dependency-tracking")
OF_OLD_PHPS = ("hash", "force-cgi-redirect", "fastcgi", "libevent-dir")
"""Which Debian still gives, and misses as little as debhelper's."""
UNASKED = frozenset({*OF_DEBHELPER, *OF_OLD_PHPS, "opcache"})
"""Given whether configure knows them or not; opcache is always there since PHP 8.5."""
_NAMED = re.compile(r"--(?:(enable|disable)|with|without)-([A-Za-z0-9_-]+)")
_SHARED = re.compile(r"--(enable|with)-([a-z0-9-]+)=shared(?:,.*)?")


def options_in(told: str) -> tuple[str, ...]:
    """The options that `php-config --configure-options` prints. Raises DynoError when these are
    none."""
    try:
        words = shlex.split(told)
    except ValueError as error:
        raise DynoError(f"these are no configure options: {error}", where="php-config") from error
    if not any(word.startswith("--") for word in words):
        raise DynoError("php-config names no configure options", where="php-config")
    return tuple(words)


def drop_in_options(options: Sequence[str], *, server: str, extensions: str, fpm: Sequence[str] = ()) -> tuple[str, ...]:
    """Options of a drop-in: those of the PHP that is there, read by `server` (`fpm`) from its
    own ini files, with `fpm`'s further options.

    `extensions` is the directory from which it loads its modules. Assignments (`CFLAGS=…`) are
    left out: flags are a recipe's.
    """
    kept: list[str] = []
    left_out = {*DROPPED, *SERVERS, *OF_THE_PACKAGER, *(OF_THE_COMMAND_LINE if server != "cli" else ())}
    for option in options:
        name, _, value = option.partition("=")
        shared = _SHARED.fullmatch(option)
        if not option.startswith("--") or name in left_out or name.startswith(("--with-fpm-", "--enable-opcache", "--disable-opcache")):
            continue
        if shared:
            kept.append(f"--{'disable' if shared[1] == 'enable' else 'without'}-{shared[2]}")
        elif name.startswith("--with-config-file"):
            kept.append(f"{name}={_of_server(value, server)}")
        elif name != "--with-libdir" or value:
            kept.append(option)
    # Debian configures twice, programs with --disable-all and extensions apart; of these only
    # opcache is compiled anew.
    return (*kept, "--enable-opcache", *SERVERS, *fpm, f"EXTENSION_DIR={extensions}")


def linked_options(libraries: Sequence[str]) -> tuple[str, ...]:
    """Options that a php-fpm was configured with, by the file names of libraries that it is
    linked with; pools may use what they add."""
    return tuple(option for library, option in OF_LIBRARIES.items() if any(each.startswith(library) for each in libraries))


def _of_server(place: str, server: str) -> str:
    """Debian has a directory of ini files for each server: /etc/php/8.2/cli/conf.d is the
    command line's."""
    return re.sub(r"(/php/[0-9.]+)/(?:cli|cgi|fpm|apache2|embed)(?=/|$)", rf"\1/{server}", place)


def unknown_options(options: Sequence[str], told: str) -> tuple[str, ...]:
    """Those of these options that `configure --help` (`told`) does not name: configure ignores
    them, and says so at most in passing."""
    known = {(bool(kind), name) for kind, name in _NAMED.findall(told)}
    found = ((option, _NAMED.match(option)) for option in options)
    return tuple(option for option, named in found if named and named[2] not in UNASKED and (bool(named[1]), named[2]) not in known)
