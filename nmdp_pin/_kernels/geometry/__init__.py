"""Pairs that may touch: gaps, normals and their derivatives."""
