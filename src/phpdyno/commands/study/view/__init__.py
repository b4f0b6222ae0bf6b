"""The view of a study: our figures beside the reference's. Pure."""
