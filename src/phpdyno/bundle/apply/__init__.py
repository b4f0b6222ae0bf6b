"""A bundle applied to a tree, verified on live workers, rolled back."""
