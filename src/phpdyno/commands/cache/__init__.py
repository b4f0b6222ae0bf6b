"""`phpdyno cache`: what phpdyno keeps on this host, and removing it."""
