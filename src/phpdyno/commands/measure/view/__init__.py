"""The view of a sweep: from its record to everything that any report shows. Pure."""
