"""Where the files of this package lie. Standard library only: the guardian, a plain Python, asks
too."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
"""The folder of this package."""
PHP_FILES = PACKAGE / "php_files"
"""What is written in PHP: probes, hosts of scripts and connectors."""
APP_FILES = PHP_FILES / "apps"
"""The built-in apps."""
