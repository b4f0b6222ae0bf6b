"""Files and trees that others may change meanwhile, and files of /proc and /sys."""
