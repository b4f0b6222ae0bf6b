"""Tarantool, the instances of its clients, and its protocol as far as we speak it ourselves."""
