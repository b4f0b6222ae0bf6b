"""`phpdyno explain`: where a request's time goes, and what a change did inside."""
