"""Running pools read: sources of workers and requests, queues, times, memory."""
