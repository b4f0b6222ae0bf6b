"""`python -m phpdyno`."""

from phpdyno.cli import main

main()
