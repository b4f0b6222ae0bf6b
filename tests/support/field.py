"""Inputs from the field: apps, logs and settings that were once misread."""

from pathlib import Path

FIELD_CASES = Path(__file__).parents[1] / "field_cases"
