"""Shapes of robots and terrain as tables of the kernels, and coal."""
