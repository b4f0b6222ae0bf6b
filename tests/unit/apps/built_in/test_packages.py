"""Versions of Debian's packages, as apt tells them."""

from subprocess import CompletedProcess

import pytest

from phpdyno.apps.built_in import packages
from phpdyno.apps.built_in.packages import versions_built_of

SHOWN = """Package: php8.4-fpm
Source: php8.4 (8.4.11-1)
Version: 8.4.11-1+b1
Architecture: amd64
Description: server-side
 Version: in a text

Package: php8.4-fpm
Source: php8.4
Version: 8.4.10-1
Architecture: amd64

Package: php8.4-xml
Source: php8.4
Version: 8.4.11-1
Architecture: all

"""


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("8.4.11-1", {"php8.4-fpm": "8.4.11-1+b1", "php8.4-xml": "8.4.11-1"}),
        # What apt does not know it will say of its own accord.
        ("8.4.10-1", {"php8.4-fpm": "8.4.10-1", "php8.4-xml": "8.4.10-1"}),
    ],
)
def test_binaries_that_were_only_compiled_again_have_a_version_of_their_own(
    monkeypatch: pytest.MonkeyPatch, version: str, found: dict[str, str]
) -> None:
    monkeypatch.setattr(packages, "told", lambda argv: CompletedProcess(argv, 0, SHOWN.encode(), b""))
    assert versions_built_of(("php8.4-fpm", "php8.4-xml"), version) == found
