"""Derivatives of steps, with respect to states, torques and parameters."""
