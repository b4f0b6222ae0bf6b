"""A study file: factors, arms, comparisons, sweeps, and the reference's figures."""
