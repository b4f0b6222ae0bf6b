"""Statistics of a comparison: one block's estimate, the anytime-valid interval over blocks, the
verdict."""
