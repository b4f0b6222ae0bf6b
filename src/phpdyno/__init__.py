"""phpdyno: a dynamometer for PHP. One command, one honest verdict per change."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (a tree on PYTHONPATH has no installer that would have said so)
    sys.exit("phpdyno: this is Python %d.%d, and 3.11 or newer is needed" % sys.version_info[:2])  # noqa: UP031

from phpdyno.package import version

__version__ = version()
