"""Granular media: wrench spaces from resistive force theory."""
