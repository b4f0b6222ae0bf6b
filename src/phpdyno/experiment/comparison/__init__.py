"""The measuring loop of a comparison: schedule, calibration, blocks, runner."""
