"""Equal answers: what of a page moves by itself is learnt from the control, everything else must be
the same in every arm."""
