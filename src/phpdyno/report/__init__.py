"""From a journal to what people read: a pure view of the run, then terminal, one HTML page, or
JSON."""
