"""A run of the lab as a page, and a study of clients as a Markdown page."""
