"""What a worker waits for, sampled without a tracer."""
