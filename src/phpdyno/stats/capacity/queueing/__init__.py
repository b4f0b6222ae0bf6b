"""A pool as a queue: response times at a load, computed and simulated."""
