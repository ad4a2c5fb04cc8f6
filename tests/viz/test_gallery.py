"""Robots whose meshes are of several kinds, in a window of meshcat."""

from pathlib import Path

import gallery
import pytest
from browser import CHROMIUM, REASON, REQUIRED

# Kinds of mesh files in example-robot-data; `python tests/gallery.py` draws all robots.
ROBOTS = (
    "hector",  # COLLADA with polylists
    "hextilt",  # COLLADA with y up
    "quadruped",  # OBJ in millimetres
    "allegro_left_hand",  # STL with an ending in capitals
)


@pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason=REASON)
def test_meshes_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Robots are seen, without an error, and each body is where Pinocchio has its meshes."""
    failed = gallery.main(tmp_path, [*ROBOTS])
    said = capsys.readouterr().out
    assert not failed, said
    assert said.count(": fine") == len(ROBOTS), said
