"""A run of `size` on a terminal and as a page, and a study of pool sizes as a Markdown page."""
