"""What several commands share: option types, progress, requests of a log, and showing a run."""
