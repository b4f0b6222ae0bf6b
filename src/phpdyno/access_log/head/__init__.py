"""A look at the head of a log, for what one line leaves open."""
