"""An explanation on a terminal and as a page."""
