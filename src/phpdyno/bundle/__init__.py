"""The deployable result: made from what was proved, applied, verified on live workers, rolled
back."""
