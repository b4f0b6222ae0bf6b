"""A study on a terminal and as a Markdown page."""
