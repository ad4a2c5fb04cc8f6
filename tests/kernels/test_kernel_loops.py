"""Gaps of loops, their gradients and second derivatives, against pinocchio and differences."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from core_samples import assert_same, central_differences
from loop_scenes import FAR, Builder

from nmdp_pin import Connect, Coupling, Distance, FrictionCone, System, Weld
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._kernels.step.stage import evaluate, linearise
from nmdp_pin.papers.methods.stage_equations import whole_rows

LOOPS = {
    "connect": Connect(first="A2", second="B2", point=(0.1, 0.2, 0.3)),
    "of a body and one above it": Connect(first="base", second="A2", point=(0.1, 0.2, 0.3)),
    "weld": Weld(first="A2", second="B2"),
    "weld to the world": Weld(first="A2"),
    "distance": Distance(first="B2", second="A1", length=1.3, point=(0.1, 0, 0.2)),
    "coupling": Coupling(joint="b1", primary="b2", polynomial=(0.1, 0.5, 0.3, -0.2)),
    "held": Coupling(joint="b1", polynomial=(0.1,)),
}
ROUNDING = 1e-12


def branched():
    """Two branches of hinges and balls on a free base, random."""
    b, rng = Builder(), np.random.default_rng(4)

    def place():
        turn = pin.Quaternion(rng.standard_normal(4)).normalized()
        return pin.SE3(turn, rng.standard_normal(3))

    def inertia():
        return pin.Inertia(1.0, rng.standard_normal(3), np.diag([0.3, 0.4, 0.5]))

    base = b.floating("base", inertia())
    for name, kinds in (
        ("A", (pin.JointModelRX(), pin.JointModelSpherical())),
        ("B", (pin.JointModelRZ(), pin.JointModelRY())),
    ):
        joint = base
        for k, kind in enumerate(kinds, start=1):
            joint = b.model.addJoint(joint, kind, place(), f"{name.lower()}{k}")
            b.model.appendBodyToJoint(joint, inertia(), pin.SE3.Identity())
            b.model.addBodyFrame(f"{name}{k}", joint, place(), 0)
    q = pin.integrate(b.model, pin.neutral(b.model), rng.standard_normal(b.model.nv))
    return b.robot(q)


@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("name", LOOPS)
def test_derivatives(name, closes):
    """Gaps and forces, and their derivatives by q, of positions and of velocities."""
    robot, rng = branched(), np.random.default_rng(7)
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, robot.standing)
    loop = LOOPS[name].standing(model, data, "")
    robot = replace(robot, loops=(loop,))
    form = CompiledSystem(System(robot, FAR, FrictionCone(stiffness=1e5)))
    stage = form.new_stage()
    stage.closes, stage.displaced, stage.rate = closes, closes, 37.0
    stage.gaps[:] = 0.01
    stage.q_ref[:] = pin.integrate(model, robot.standing, 0.1 * rng.standard_normal(model.nv))
    stage.v_ref[:] = rng.standard_normal(model.nv)
    q = pin.integrate(model, stage.q_ref, 0.1 * rng.standard_normal(model.nv))
    w = np.zeros(form.shape)
    w[:, 0] = 20.0 * rng.standard_normal(len(w))

    def at(dq, w=w):
        point = form.new_point()
        point.q[:], point.w[:] = pin.integrate(model, q, dq), w
        evaluate(form.record, stage, point, True)
        return point

    here, linear = at(np.zeros(model.nv)), form.new_linear()
    linearise(form.record, stage, here, linear)
    rows = loop.rows
    J_force, J_motion = (whole_rows(linear, J, rows) for J in (linear.J_force, linear.J_motion))
    assert here.n_active.tolist() == [rows, 0]
    assert_same(linear.A, central_differences(lambda dq: at(dq).G, model.nv))
    of_motion = central_differences(lambda dq: at(dq).motion[:rows, 0].copy(), model.nv)
    assert_same(J_motion[:, 0], of_motion)
    for i in range(rows):
        pushed = w.copy()
        pushed[i, 0] += 1.0
        force = here.G - at(np.zeros(model.nv), pushed).G
        assert J_force[i, 0] == pytest.approx(force, abs=1e-9)
    pin.computeJointJacobians(model, data, q)
    gaps, J = loop.gaps(model, data, q)
    assert J_force[:, 0] == pytest.approx(J, abs=ROUNDING)
    given = form.joints.loops.compliance * w[:, 0]
    expected = gaps if closes else 0.01 + J @ here.v / stage.rate
    assert here.motion[:rows, 0] == pytest.approx(expected + given, abs=ROUNDING)
