"""`phpdyno ladder`: every way to build PHP, measured in one comparison, and what goes on top of the
best."""
