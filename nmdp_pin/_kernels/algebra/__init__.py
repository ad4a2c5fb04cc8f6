"""Vectors, small matrices, Lie groups and configuration spaces."""
