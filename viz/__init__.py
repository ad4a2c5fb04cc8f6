"""Pictures of runs: plots, a live viewer and self-contained pages."""
