"""A build as a Debian package."""
