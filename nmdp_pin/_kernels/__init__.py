"""Compiled inner loops: plain functions on flat arrays."""
