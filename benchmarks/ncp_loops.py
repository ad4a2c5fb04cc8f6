"""Closed loops in `ne-ncp`: stiff rows, as it has them, and constraints of Pinocchio in ADMM.

    OMP_NUM_THREADS=1 python benchmarks/ncp_loops.py

Cassie stands on its feet, its rods and plantar linkages held by `Connect` and `Distance`. In each
step the problem is solved twice from the same start: with the loops as stiff springs in the mass
matrix, and with each `Connect` as a `PointAnchorConstraintModel` beside the contacts' cones.
Pinocchio has no constraint for distances, which stay springs in both.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from scipy.linalg import cholesky, solve_triangular

from nmdp_pin import Command, Connect, Plane, Simulator, Terrain, load_robot
from nmdp_pin.contact import DryFriction
from nmdp_pin.papers.methods.ncp import NeNcp

H, STEPS = 0.01, 50  # [s], and their number
TOLERANCE = 1e-5 * 9.81 * H  # [m/s], that of `ne-ncp`
MOST = 3000  # iterations


def anchored(method: NeNcp, start: object, slides: np.ndarray) -> tuple[int, float]:
    """Iterations of ADMM with anchors, and the largest speed at which they come apart [m/s]."""
    linear, robot, contacts = method._step, method._robot, method._contacts(start)
    held = np.repeat(*np.transpose([(isinstance(x, Connect), x.rows) for x in robot.loops]))
    rows = np.flatnonzero(held)
    loops = linear.form.joints.loops
    J, give = start.J[start.n + loops.first[0] :, 0][rows], loops.compliance[rows]
    data = robot.model.createData()
    pin.computeJointJacobians(robot.model, data, start.state.q)
    gaps = np.concatenate([x.gaps(robot.model, data, start.state.q)[0] for x in robot.loops])[rows]
    M, right = linear.equations(start)
    M = M + H * np.diag(np.where(slides == 0.0, method._friction / 1e-6, 0.0))
    M, right = M - H**2 * J.T @ (J / give[:, None]), right + H * J.T @ (gaps / give)
    L = cholesky(M, lower=True)
    Y = solve_triangular(L, np.vstack([J, contacts.rows]).T, lower=True)
    free = solve_triangular(L, right, lower=True)
    W, g, k = Y.T @ Y, Y.T @ free, len(rows)
    g[:k] += gaps / H
    g[k + 2 :: 3] -= contacts.depth / np.where(contacts.depth < -1e-6, H, 0.1)
    models = pin.StdVec_ConstraintModel()
    for loop in robot.loops:
        if isinstance(loop, Connect):
            a, b = loop.attached(robot.model)
            anchor = pin.PointAnchorConstraintModel(robot.model, a.joint, a.place, b.joint, b.place)
            models.append(pin.ConstraintModel(anchor))
    for mu in contacts.friction:
        models.append(pin.ConstraintModel(pin.PointContactConstraintModel(pin.Model())))
        models[len(models) - 1].extract().setFriction(float(mu))
    datas = pin.StdVec_ConstraintData()
    for model in models:
        datas.append(model.createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.anderson_capacity, settings.rho_update_ratio = 5, 5.0
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.max_iterations = MOST - 1
    settings.absolute_feasibility_tol = 0.3 * TOLERANCE / math.sqrt(len(W) / 3)
    settings.absolute_complementarity_tol = settings.absolute_feasibility_tol * np.abs(g).max()
    result.setConstraintImpulseGuess(np.zeros(len(W)))
    scale = W.diagonal().mean()
    delassus = pin.DelassusOperatorDense(W / scale)
    pin.ADMMConstraintSolver().solve(delassus, g, models, datas, settings, result)
    moved = W @ (result.retrieveConstraintImpulses() / scale) + g
    return int(result.iterations), float(np.abs(moved[:k]).max())


def main() -> None:
    """Print what both take."""
    robot = load_robot("cassie")
    simulator = Simulator(robot, Terrain(Plane(friction=0.8)), DryFriction(), "ne-ncp")
    method, state = NeNcp(simulator.system), simulator.state()
    gains = np.where(np.arange(robot.model.nv) < 6, 0.0, 1.0)
    command = simulator.checked_command(Command(kp=200.0 * gains, kd=5.0 * gains, q_target=state.q))
    rows = []
    for _ in range(STEPS):
        linear = method._step
        start = linear.coasting(linear.start(state, command, H))
        linear.saturate(state.q, state.v, again=False)
        slides = method._slides(state.v)
        v, found = method._solved(start, method._contacts(start), slides)
        moved = linear.loop_forces(start, v) * linear.form.joints.loops.compliance / H
        rows.append((found.iterations, np.abs(moved).max(), *anchored(method, start, slides)))
        state = method.step(state, command, H).state
    iterations, speed, more, left = np.transpose(rows)
    print("loops as         iterations: mean, most   largest speed of gaps [m/s]")
    print(f"stiff rows       {iterations.mean():16.0f} {iterations.max():6.0f} {speed.max():12.1e}")
    print(f"anchors in ADMM  {more.mean():16.0f} {more.max():6.0f} {left.max():12.1e}")


if __name__ == "__main__":
    main()
