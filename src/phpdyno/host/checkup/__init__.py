"""What this host can and cannot measure: readings and trials on one side, pure judgement on the
other."""
