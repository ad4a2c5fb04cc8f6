"""Independent tasks side by side."""
