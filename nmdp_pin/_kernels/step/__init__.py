"""Stages of a step, their solution, and steps."""
