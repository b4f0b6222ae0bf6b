"""What was seen inside a running arm, as data."""
