"""A source tree configured and compiled, and what came out of it."""
