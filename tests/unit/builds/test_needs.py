"""What is missing is named with the line that installs it."""

import pytest

from phpdyno.build.needs import TOOLS, needed, require_packages
from phpdyno.errors import DynoError

OPTIONS = ("--prefix=/usr", "--with-openssl", "--with-zlib", "--without-mysqli", "--with-fpm-systemd", "--with-zlib-dir=/usr")


def test_headers_are_those_of_the_options() -> None:
    assert needed(OPTIONS) == (*TOOLS, "libssl-dev", "zlib1g-dev", "libsystemd-dev")
    assert needed(()) == TOOLS


def test_only_what_is_missing_is_to_be_installed() -> None:
    require_packages(needed(OPTIONS), lambda package: True)
    with pytest.raises(DynoError) as caught:
        require_packages(needed(OPTIONS), lambda package: package not in {"libssl-dev", "libsystemd-dev"})
    assert "compiling PHP needs libssl-dev, libsystemd-dev" in str(caught.value)
    assert str(caught.value).endswith("libssl-dev libsystemd-dev")
