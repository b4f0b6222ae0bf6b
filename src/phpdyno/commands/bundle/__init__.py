"""`phpdyno bundle`: what a tune proved, applied to a tree, verified on running workers, rolled
back."""
