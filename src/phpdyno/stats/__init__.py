"""Pure statistics: one block's estimate, the anytime-valid interval over blocks, the verdict. No
I/O."""
