"""A web server's access log, read as a stream in bounded memory: what was asked, how often, how the
requests arrived."""
