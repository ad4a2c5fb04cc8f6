"""Compiler of the kernels, their records, their cache, and calls back to Python."""
