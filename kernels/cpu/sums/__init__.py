"""Sums, norms and variances in a fixed order of additions."""
