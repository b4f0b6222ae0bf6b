"""What a release is made of: a wheel that needs no compiler, a Debian package, and the image of a
container."""
