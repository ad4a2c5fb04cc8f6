"""Velocities in the axes of pinocchio's free-flyer, and back."""

import numpy as np
import pinocchio as pin
import pytest
from urdf_samples import HOPPER, write

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, load_robot
from nmdp_pin._robot import free_body, together
from nmdp_pin._simulator.state_vector import from_free_flyer, to_free_flyer
from nmdp_pin._terrain import Box
from nmdp_pin.errors import StateError

ROUNDING = 1e-12


def test_the_foot_moves_alike_in_both_models(tmp_path):
    """A frame has the same velocity by our model and v, and by pinocchio's model and its v."""
    path = write(tmp_path, HOPPER)
    ours = load_robot(path).model
    theirs = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(3)
    q = pin.integrate(ours, pin.neutral(ours), rng.standard_normal(ours.nv))
    v = rng.standard_normal(ours.nv)
    motions = []
    for model, velocity in ((ours, v), (theirs, to_free_flyer(ours, q, v))):
        data = model.createData()
        pin.forwardKinematics(model, data, q, velocity)
        frame = model.getFrameId("leg", pin.BODY)
        motions.append(pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector)
    np.testing.assert_allclose(motions[0], motions[1], atol=ROUNDING)
    back = from_free_flyer(ours, q, to_free_flyer(ours, q, v))
    np.testing.assert_allclose(back, v, atol=ROUNDING)


def test_a_simulator_takes_either_by_name(tmp_path):
    """A state may be made from the velocity of a free-flyer, but not from both."""
    bot = load_robot(write(tmp_path, HOPPER))
    sim = Simulator(bot, Terrain(Plane()), FrictionCone(stiffness=1e4))
    rng = np.random.default_rng(5)
    q = pin.integrate(bot.model, bot.standing, rng.standard_normal(7))
    v = rng.standard_normal(7)
    state = sim.state(q, free_flyer_v=v)
    np.testing.assert_array_equal(state.v, from_free_flyer(bot.model, q, v))
    with pytest.raises(StateError, match="one of v and free_flyer_v"):
        sim.state(q, v, free_flyer_v=v)


def test_objects_are_turned_and_fixed_bases_are_not(tmp_path):
    """Each floating base of several bodies has its own axes; hinges and planar bases have none."""
    path = write(tmp_path, HOPPER)
    cube = free_body("cube", Box(size=(0.1, 0.1, 0.1)), mass=1.0, rpy=(0.0, 0.0, np.pi / 2))
    model = together(load_robot(path, base="planar"), [cube]).model
    q = np.concatenate([np.zeros(4), cube.standing])
    v = np.arange(1.0, 11.0)
    turned = to_free_flyer(model, q, v)
    np.testing.assert_allclose(turned, [1, 2, 3, 4, 6, -5, 7, 8, 9, 10], atol=ROUNDING)


@pytest.mark.parametrize("convert", [to_free_flyer, from_free_flyer])
def test_wrong_shapes(convert, tmp_path):
    """They are named, with what was expected."""
    model = load_robot(write(tmp_path, HOPPER)).model
    with pytest.raises(StateError, match=r"v has shape \(6,\), expected \(7,\)"):
        convert(model, pin.neutral(model), np.zeros(6))
