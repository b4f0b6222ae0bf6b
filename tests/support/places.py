"""Where things of the repository lie, for tests at any depth."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
