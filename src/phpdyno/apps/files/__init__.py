"""Copies and overlays of an app's files: nothing of the original is changed."""
