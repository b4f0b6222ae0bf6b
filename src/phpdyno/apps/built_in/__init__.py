"""The built-in apps, made of Debian's packages."""
