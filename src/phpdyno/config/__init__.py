"""SPECs and TOML files → model. Nothing is read here but the file that was named; every error names
the file and the key."""
