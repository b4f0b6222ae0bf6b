"""An app's databases and services: prepared once in the cache, copied for each run."""
