"""A comparison on a terminal and as a page."""
