"""Processes of a run: started, watched and ended by the guardian, whatever becomes of us."""
