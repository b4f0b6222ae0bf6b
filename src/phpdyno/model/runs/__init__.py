"""What the commands ask for and find, as data: studies, sweeps, tunes, ladders, matrices, the
connector lab."""
