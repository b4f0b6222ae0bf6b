"""The answer of a command: what it found and what to do now, on one screen and in percent."""
