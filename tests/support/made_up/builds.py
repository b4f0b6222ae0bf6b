"""A finished build, as the cache records it."""

from phpdyno.model.build import Build, Origin
from phpdyno.model.recipe import Recipe

BUILD = Build(
    name="pgo-1",
    recipe=Recipe(pgo=True),
    origin=Origin("debian", "8.2.36-1", "c0de", "php8.2"),
    php_version="8.2.36",
    like="/usr/sbin/php-fpm8.2",
    stock={"php": "/usr/sbin/php-fpm8.2"},
    options=("--enable-fpm", "--with-fpm-systemd"),
    compiler="gcc 12.2.0",
    vm_kind="HYBRID",
    binaries=(),
    checks=(),
    seconds=1.0,
    made="2026-01-02T03:04:05+0000",
)
