"""Where PHP's source comes from: the distribution's package, or what the user gives."""
