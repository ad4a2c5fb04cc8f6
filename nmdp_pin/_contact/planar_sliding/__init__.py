"""Planar sliding: patches within a convex limit surface, and how it is fitted."""
