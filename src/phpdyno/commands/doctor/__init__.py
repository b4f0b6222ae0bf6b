"""`phpdyno doctor`: what this host can and cannot measure, and how to fix it."""
