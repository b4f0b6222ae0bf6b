"""`phpdyno selfcheck`: comparisons whose answer is known beforehand, and how often the answer was
right."""
