"""The programs that are installed: found, asked what they are and what they can do."""
