"""What only some tests want to be installed: they are skipped without it, and fail where all of it
was installed."""

import os
from typing import NoReturn

import pytest

INSTALLED = "PHPDYNO_TEST_OPTIONAL"
"""Set by continuous integration once it has installed everything of this kind: what is missing then
is there and not found."""


def absent(reason: str) -> NoReturn:
    """Skip the test that is running for want of something."""
    if os.environ.get(INSTALLED):
        pytest.fail(f"{reason}; it was installed, {INSTALLED} says")
    pytest.skip(reason)


def needs(found: object, reason: str) -> pytest.MarkDecorator:
    """The mark of tests that want what was looked for; `reason` says what is missing where it was
    not found."""
    if not found and os.environ.get(INSTALLED):
        absent(reason)
    return pytest.mark.skipif(not found, reason=reason)
