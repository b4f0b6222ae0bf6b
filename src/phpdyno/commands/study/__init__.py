"""`phpdyno study`: the comparisons, sweeps and syscall passes of a study file, beside the
reference's figures."""
