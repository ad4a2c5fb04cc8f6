"""gym-hopper and gym-walker are Gymnasium's own, as MuJoCo reads their MJCF."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._robot import load_robot

for package, extra in (("gymnasium", "gym"), ("mujoco", "mjcf")):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}: extra '{extra}'", allow_module_level=True)

DIGITS = 1e-5  # relative: the URDFs have six digits


def theirs(name):
    """A robot of Gymnasium's, whose base is slides and a hinge of its own."""
    import gymnasium

    folder = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_robot(folder / f"{name}.xml")


def inertia(robot, q):
    """The mass matrix at angles of the joints, those of the base being zero."""
    full = robot.standing.copy()
    full[-len(q) :] = q
    M = np.triu(pin.crba(robot.model, robot.model.createData(), full))
    return M + np.triu(M, 1).T


def test_the_hopper():
    """Its mass matrix, ranges and damping."""
    ours, other = load_robot("gym-hopper"), theirs("hopper")
    for q in np.random.default_rng(0).uniform(-1.0, 0.0, (3, 3)):
        np.testing.assert_allclose(inertia(ours, q), inertia(other, q), rtol=DIGITS, atol=DIGITS)
    for name in ("lowerPositionLimit", "upperPositionLimit", "damping"):
        mine, known = getattr(ours.model, name), getattr(other.model, name)
        np.testing.assert_allclose(mine[3:], known[3:], atol=DIGITS)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_walker(side):
    """Its mass, and the part of a leg's pitch hinges in the mass matrix, ranges and damping."""
    ours, other = load_robot("gym-walker"), theirs("walker2d")
    assert ours.mass == pytest.approx(other.mass, rel=DIGITS)
    names = [f"{side}_{joint}" for joint in ("hip_pitch", "knee", "ankle")]
    joints = [ours.model.joints[ours.model.getJointId(name)] for name in names]
    mine, known = [joint.idx_v for joint in joints], [3, 4, 5]
    q = np.array([-0.3, -0.7, 0.2])
    full = ours.standing.copy()
    full[[joint.idx_q for joint in joints]] = q
    M = inertia(ours, full[7:])[np.ix_(mine, mine)]
    np.testing.assert_allclose(
        M, inertia(other, np.tile(q, 2))[np.ix_(known, known)], rtol=DIGITS, atol=DIGITS
    )
    for name in ("lowerPositionLimit", "upperPositionLimit"):
        angles = getattr(ours.model, name)[[joint.idx_q for joint in joints]]
        np.testing.assert_allclose(angles, getattr(other.model, name)[known], atol=DIGITS)
    np.testing.assert_allclose(ours.model.damping[mine], other.model.damping[known], atol=DIGITS)
