"""The dissipation principle solved to rounding, for tests that look at a method's own error."""

from typing import Any

import physics_scenes
import pytest

from nmdp_pin._integrators.vi_newton import ViNewton

TIGHT = ViNewton(tolerance=1e-10, slip=1e-8)


def solve_tightly(monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    """Let the methods of `physics_scenes` solve to rounding from here on, with more options."""
    for methods in (physics_scenes.EVERY, physics_scenes.SECOND_ORDER):
        for label, (name, options) in methods.items():
            if options.get("objective") == "dissipation":
                monkeypatch.setitem(methods, label, (name, {**options, "vi_newton": TIGHT, **more}))
