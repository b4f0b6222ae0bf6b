"""What is watched on a terminal, as metrics, as a page and as a record."""
