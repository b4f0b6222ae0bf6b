"""The operations that the lab knows, and how many may be under way. Pure."""

OPERATIONS = ("ping", "call", "eval", "select", "insert", "replace", "update", "upsert", "delete")
"""Of the reference, in its order."""
OF_SQL = ("sql-select", "sql-insert", "sql-update", "sql-delete")
PREPARED = "-prepared"
KNOWN = (*OPERATIONS, *OF_SQL, *(f"{name}{PREPARED}" for name in OF_SQL))
MOST_IN_FLIGHT = 512
"""A server of today carries out at most 768 at once (net_msg_max)."""
MOST_PROCESSES = 16
