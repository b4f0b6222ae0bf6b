"""A matrix on a terminal and as a page."""
