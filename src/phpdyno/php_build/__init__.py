"""PHP, compiled: recipe, source, compile, train, code layout, cache."""
