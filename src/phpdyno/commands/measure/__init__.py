"""`phpdyno measure`: what an app does as more is asked of it at once."""
