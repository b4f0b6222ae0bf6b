"""What is counted exactly: instructions, the processor's counters, the database's own
statistics."""
