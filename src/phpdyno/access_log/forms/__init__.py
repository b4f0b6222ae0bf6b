"""The forms that access logs come in: a line of any of them becomes a Hit."""
