"""`phpdyno connectors`: clients of Tarantool held against each other, from one request at a time to
hundreds in flight."""
