"""A sweep on a terminal and as a page."""
