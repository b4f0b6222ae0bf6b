"""Private services at production's own addresses: a file for each kind of server. `kinds` starts
any of them."""
