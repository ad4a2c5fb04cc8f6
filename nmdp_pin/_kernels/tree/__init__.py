"""Joints and bodies of a robot."""
