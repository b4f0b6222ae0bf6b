"""Sections about the load core and the runner."""
