"""Sections about builds of PHP."""
