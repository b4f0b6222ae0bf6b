"""The check-up of a host."""
