"""What is missing is named with the line that installs it."""

import pytest

from phpdyno.errors import DynoError
from phpdyno.php_build.source.needs import TOOLS, installed_of, missing_of, needed, require_packages

OPTIONS = ("--prefix=/usr", "--with-openssl", "--with-zlib", "--without-mysqli", "--with-fpm-systemd", "--with-zlib-dir=/usr")


def test_headers_are_those_of_the_options() -> None:
    assert needed(OPTIONS) == (*TOOLS, "libssl-dev", "zlib1g-dev", "libsystemd-dev")
    assert needed(()) == TOOLS


def test_only_what_is_missing_is_to_be_installed() -> None:
    require_packages(needed(OPTIONS), lambda packages: packages)
    with pytest.raises(DynoError) as caught:
        require_packages(needed(OPTIONS), lambda packages: {*packages} - {"libssl-dev", "libsystemd-dev"})
    assert "compiling PHP needs libssl-dev, libsystemd-dev" in str(caught.value)
    assert str(caught.value).endswith("libssl-dev libsystemd-dev")


def test_gcc_comes_with_the_headers_of_c_that_it_only_recommends() -> None:
    assert {"gcc", "libc6-dev"} <= set(TOOLS)


def test_a_package_that_does_as_well_is_good_enough() -> None:
    there = {"pkgconf", "libcurl4-gnutls-dev"}
    assert missing_of(("pkg-config", "libcurl4-openssl-dev", "libzip-dev"), lambda _: there) == ("libzip-dev",)


def test_dpkg_tells_of_all_at_once_also_beside_one_that_it_does_not_know() -> None:
    assert installed_of(("dpkg", "no-such-package-anywhere", "libc6")) == {"dpkg", "libc6"}
    assert installed_of(()) == frozenset()
