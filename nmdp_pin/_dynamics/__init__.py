"""Dynamics of a system: forms, step equations and torque laws; see docs/architecture.md."""
