"""`phpdyno matrix`: a build for each app's profile and one for all together, each measured on every
app."""
