"""Why: what changed inside a running arm. A diagnosis beside the verdict, never the verdict."""
