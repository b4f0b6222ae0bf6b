"""The append-only, versioned record of a run: JSON lines, from which every run can be resumed and
every report rebuilt."""
