"""The view of a comparison: from the journal's records to everything that any report shows.
Pure."""
