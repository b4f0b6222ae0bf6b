"""The project that a document root or a script belongs to: found by what its PHP loads and by what
lies beside it."""
