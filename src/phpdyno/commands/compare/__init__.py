"""`phpdyno compare`: one control, any number of treatments, one verdict each."""
