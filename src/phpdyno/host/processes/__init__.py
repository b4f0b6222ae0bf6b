"""What the kernel says of a process: CPU time, memory, what it waits on."""
