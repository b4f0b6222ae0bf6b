"""The measuring loop of a sweep: rounds of fresh instances, each visited at every point."""
