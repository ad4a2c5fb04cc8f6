"""Simulators: one step of a method at a time, and the control of its length."""
