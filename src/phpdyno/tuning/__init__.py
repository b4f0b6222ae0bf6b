"""What `tune` does next, by pure functions of what the finished comparisons said. No I/O."""
