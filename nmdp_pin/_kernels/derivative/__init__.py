"""Derivatives of steps."""
