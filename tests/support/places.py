"""Where things of the repository lie, for tests at any depth."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIELD_CASES = ROOT / "tests" / "field_cases"
"""Inputs that failed in the field, made after public bug reports."""
