"""`phpdyno tune`: from an app to a combination of changes that was proved, and the bundle that
carries it."""
