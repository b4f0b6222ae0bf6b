"""From what was measured to the number of workers. Pure."""
