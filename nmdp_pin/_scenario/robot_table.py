"""The scenario of a robot alone: it holds its standing pose on flat ground."""

import os
from pathlib import Path
from typing import Any

from nmdp_pin._robot import is_robot, load_robot, stands_at_zero

DURATION = 5.0  # [s]
STEP = 0.02  # [s]
STATIC_DEPTH = 0.001  # [m]
CLEARANCE = 0.01  # [m]


def robot_table(source: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Table of a scenario that has only a robot; None for other sources."""
    if not is_robot(source):
        return None
    text = os.fspath(source)
    named = Path(text).name == text and not Path(text).suffix
    # An arm that hangs from its fixed base gets its ground below it.
    lowest = 0.0 if stands_at_zero(source) else load_robot(source, visuals=False).lowest_point
    ground = lowest - CLEARANCE if lowest < -CLEARANCE else 0.0
    return {
        "duration": DURATION,
        "robot": {"name": text} if named else {"urdf": str(Path(text).expanduser().absolute())},
        "terrain": {"shapes": [{"kind": "plane", "height": ground}]},
        "contact": {"static_depth": STATIC_DEPTH},
        "integrator": {"dt": STEP},
        "controller": {"kind": "hold"},
    }
