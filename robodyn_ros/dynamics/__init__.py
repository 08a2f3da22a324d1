"""Dynamics of a robot: one algorithm per file, compiled kernels beside their public functions."""
