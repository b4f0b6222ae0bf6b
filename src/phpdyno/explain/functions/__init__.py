"""Functions in which time goes: PHP's by a worker's memory, the server's by perf."""
