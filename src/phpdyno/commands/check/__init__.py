"""`phpdyno check`: whether an app can be measured, what each target costs at a glance, and what the
app reaches for."""
