"""Apps that can be measured: built in, described by an app.toml, or a plain document root; each
made ready on copies of its own."""
