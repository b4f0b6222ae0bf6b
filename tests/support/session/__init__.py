"""What lasts as long as a session of the tests: a process that has loaded phpdyno, a way out to the
network of the host."""
