"""`phpdyno report`: the reports of a run rebuilt from its journal or its record alone."""
