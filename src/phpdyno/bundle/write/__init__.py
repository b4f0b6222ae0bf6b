"""A bundle written from what was accepted."""
