"""Whole systems: what is installed on them from nothing, and works there."""
