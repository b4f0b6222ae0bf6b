"""Sockets and networks of the host: queues, namespaces, framed messages."""
