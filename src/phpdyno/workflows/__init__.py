"""What a user asks for, turned into plans and read back as verdicts."""
