"""What `phpdyno watch` is made of."""
