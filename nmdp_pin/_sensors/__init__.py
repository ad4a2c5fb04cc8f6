"""Sensors of robots."""
