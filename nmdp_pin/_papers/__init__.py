"""The papers' own variants and baselines, which register themselves (`methods`)."""
