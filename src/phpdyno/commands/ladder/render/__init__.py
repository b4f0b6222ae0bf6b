"""A ladder on a terminal and as a page."""
