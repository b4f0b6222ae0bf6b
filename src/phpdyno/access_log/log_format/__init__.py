"""`--log-format`: a format that is given, in the words of nginx or Apache."""
