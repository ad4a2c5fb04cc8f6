"""The command line: `nmdp-pin run`, `view`, `plot`, `compare`, `robots`, `scenarios`, `check`."""

from nmdp_pin.cli.main import app, main

__all__ = ["app", "main"]
