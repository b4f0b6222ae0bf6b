"""phpdyno: a dynamometer for PHP. One command, one honest verdict per change."""

__version__ = "0.1.0"
