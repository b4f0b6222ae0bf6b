"""`phpdyno init`: an app.toml written from what a directory shows."""
