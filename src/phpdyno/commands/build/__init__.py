"""`phpdyno build`: the PHP that is there, rebuilt for an app or several."""
