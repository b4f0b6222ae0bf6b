"""What the blocks of a comparison say of a treatment."""
