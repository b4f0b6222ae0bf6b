"""What makes things of this repository: the benchmark, the reference pages."""
