"""The other sections, a file each."""
