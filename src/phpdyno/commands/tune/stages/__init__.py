"""The stages of a tune, in order: screen, search, numbers, preload, proof; loaded is the search
under load."""
