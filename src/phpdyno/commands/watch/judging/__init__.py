"""What the figures of a pool mean: its limit now, stuck requests, a range of workers. Pure."""
