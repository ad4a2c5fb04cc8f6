"""The papers' own variants and baselines, which pyproject.toml registers as entry points."""
