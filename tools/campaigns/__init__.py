"""Campaigns: many random attempts to break the program, within a budget of minutes."""
