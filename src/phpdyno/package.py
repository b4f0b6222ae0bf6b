"""Where the files of this package lie. Standard library only: the guardian, a plain Python, asks
too."""

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
"""The folder of this package."""
SETUP = PACKAGE.parents[1] / "scripts" / "setup.sh"
"""The script that installs Debian's packages; it is there in a clone and in our Debian package."""
PHP_FILES = PACKAGE / "php_files"
"""What is written in PHP: probes, hosts of scripts and connectors."""
APP_FILES = PHP_FILES / "apps"
"""The built-in apps."""
_CARGO = PACKAGE.parents[1] / "Cargo.toml"
"""Of a clone: the one place that has the version, from which wheels and packages take theirs."""
CLONED = _CARGO.is_file()
"""Whether this is a clone, and neither a wheel nor a Debian package."""


def version() -> str:
    """phpdyno's version: the clone's, else that which was installed."""
    if CLONED:
        found = re.search(r'^version = "([^"]+)"', _CARGO.read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1]
    from importlib import metadata  # noqa: PLC0415 (dear to import, and a clone needs none of it)

    return metadata.version("phpdyno")
