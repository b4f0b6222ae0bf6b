"""A tune on a terminal and as a page."""
