"""Private services that an app may have: what each is, and its kinds."""
