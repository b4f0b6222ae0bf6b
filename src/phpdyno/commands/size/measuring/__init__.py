"""The stages of a run of `size`, and the fresh pools that they measure."""
