"""What strace shows of running processes: calls counted, and what they reached for."""
