"""The only measuring loop: schedule (pure), calibration, runner."""
