"""Affine variational inequalities."""
