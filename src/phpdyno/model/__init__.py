"""Frozen data that every layer shares: plan, arm, facts, observation, effect, verdict. No
behaviour, no I/O."""
