"""Statistics of a search: factorial designs, what they say of each factor, races."""
