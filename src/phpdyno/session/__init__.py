"""A session of measuring: the app and its arms from what was named, servers started and met, the
run directory and how its journal ends."""
