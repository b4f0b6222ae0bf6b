"""Driving an arm for one slot and taking its samples, through the native load core."""
