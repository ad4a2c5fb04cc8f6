"""Viewers and plots; nothing else in the package imports this."""
