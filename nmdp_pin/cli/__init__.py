"""The command line: `nmdp-pin run`, `view`, `plot`, `compare`, `paper` and more."""

from nmdp_pin.cli.main import app, main

__all__ = ["app", "main"]
