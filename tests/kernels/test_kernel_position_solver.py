"""Steps of position-based dynamics: their linear systems, ends, energies and derivatives."""

import body_scenes
import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from position_steps import Step

from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._control import Command
from nmdp_pin._dynamics.commands import new_plan, write_plan
from nmdp_pin._kernels.step import levenberg_marquardt as lm
from nmdp_pin._robot import free_body
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Sphere, Terrain

METHODS = ("pbd", "pbfd")
LAW = Penalty(normal_stiffness=1e4, friction_stiffness=1e5)
OTHER_EXPONENTS = Penalty(
    normal_stiffness=1e4, friction_stiffness=1e5, alpha=2.5, beta=1.7, gamma=1.2
)
FAR = Terrain([Plane(height=-1e3)])
H = 0.02  # [s]
ROUNDING = 1e-9  # relative, of linear systems of ten equations


def begun(method, ground="tilted", law=LAW, name="wheels+damping", **options):
    """A step in contact and a trial end of it."""
    robot, rng = samples.robot(name), np.random.default_rng(5)
    model = robot.model
    q0, v0 = samples.configuration(model, rng), rng.standard_normal(model.nv)
    q = pin.integrate(model, q0, H * (v0 + rng.standard_normal(model.nv)))
    terrain = samples.ground_through(ground, samples.centres(robot, q)) if ground else FAR
    step = Step(method, law, robot, terrain, **options)
    state, command = State(0.0, q0, v0), samples.command(model, rng)
    step.begin(state, command, H)
    return step, q, state, command


def solved(step):
    """The account of the step, made by the kernel."""
    lm.minimise_step(step.memory)
    return step.memory.account


@pytest.mark.parametrize("lam", [0.0, 3.0])
@pytest.mark.parametrize("method", METHODS)
def test_linear_systems(method, lam):
    """(H + lam metric) dq = -g: of pbfd H = X'X and g = X' U'^-1 r, X = U'^-1 A; or -A^-1 r."""
    step, q, _, _ = begun(method, ground=None)
    memory, nv = step.memory, step.nv
    r = step.evaluate(q)
    A, metric = step.linearise(), memory.ref.metric
    memory.r[:], memory.account[lm.LAM], memory.formed = r, lam, False
    X, s = (np.linalg.solve(np.triu(memory.ref.U).T, b) for b in (A, r))
    H, g = (X.T @ X, X.T @ s) if method == "pbfd" else (0.5 * (A + A.T), r)
    expected = -np.linalg.solve(H + lam * metric, g)
    for _ in range(2):  # the second time from what was formed at first
        memory.dx[:] = np.nan
        assert lm._solve(memory)
        assert memory.dx == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
    if method == "pbd":
        step.point.A[:] = -np.eye(nv)
        memory.account[lm.LAM] = 0.0
        assert not lm._solve(memory)


@pytest.mark.parametrize("method", METHODS)
def test_contacts_apart_have_no_energy(method):
    """Of a robot without springs and stops."""
    robot = free_body("ball", Sphere(radius=0.1), mass=1.0)
    step = Step(method, LAW, robot, FAR)
    step.begin(State(0.0, robot.standing, np.zeros(6)), Command(), H)
    step.evaluate(robot.standing)
    assert step.point.forces.stored == step.point.forces.friction == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_the_metric_is_that_of_free_motion(method):
    """M rate / h + kd / h + kp with pinocchio's M, and the energies at the start."""
    step, _, state, command = begun(method)
    model, data, ref = step.model, step.model.createData(), step.memory.ref
    M = pin.crba(model, data, state.q)
    M = np.triu(M) + np.triu(M, 1).T
    expected = M / H**2 + np.diag((command.kd + model.damping) / H + command.kp)
    assert ref.metric == pytest.approx(expected, rel=ROUNDING, abs=1e-6)
    U = np.triu(ref.U)
    assert U.T @ U == pytest.approx(expected, rel=ROUNDING, abs=1e-6)
    potential = pin.computePotentialEnergy(model, data, state.q)
    assert ref.kinetic == pytest.approx(0.5 * state.v @ M @ state.v, rel=ROUNDING)
    assert ref.potential == pytest.approx(potential, rel=ROUNDING)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_ends_at_a_root_with_pinocchios_energies(method):
    """The residual evaluated there is below the tolerance."""
    step, _, state, _ = begun(method)
    account = solved(step)
    assert account[lm.OUTCOME] == lm.CONVERGED
    memory, model = step.memory, step.model
    q, v, found = memory.q.copy(), memory.trial.v.copy(), (memory.kinetic, memory.potential)
    assert v == pytest.approx(pin.difference(model, state.q, q) / H, abs=ROUNDING)
    data = model.createData()
    M = np.triu(pin.crba(model, data, q))
    kinetic = 0.5 * v @ (M + np.triu(M, 1).T) @ v
    potential = pin.computePotentialEnergy(model, data, q)
    assert found == pytest.approx((kinetic, potential), rel=1e-8)
    assert memory.pivots >= 1.0
    r = step.evaluate(q)
    assert np.linalg.norm(r) <= memory.bound
    assert account[lm.ERROR] == pytest.approx(np.linalg.norm(r))


@pytest.mark.parametrize("method", METHODS)
def test_a_point_that_gains_energy_is_refused(method):
    """More than half of the energy that moves and a lift of the weight by a centimetre."""
    step, _, _, _ = begun(method)
    account = solved(step)
    assert account[lm.OUTCOME] == lm.CONVERGED
    memory, ref, point = step.memory, step.memory.ref, step.point
    work = H * point.tau @ point.v
    end = memory.kinetic + memory.potential + point.forces.stored - work
    moving = ref.kinetic + max(work, 0.0) + memory.stored
    allowed = 0.5 * moving + 0.01 * step.method.weight
    for factor, outcome in ((1.0 - 1e-6, lm.CONVERGED), (1.0 + 1e-6, lm.ENERGY_GAINED)):
        ref.potential = end - ref.kinetic - memory.stored - factor * allowed
        account[lm.OUTCOME] = lm.CONVERGED
        lm.close_step(step.memory)
        assert account[lm.OUTCOME] == outcome


def test_steps_that_cannot_be_made():
    """Gains that are not finite leave no metric; too few iterations end where they are."""
    step, _, _, _ = begun("pbd")
    step.start.commands.kp[:] = np.nan
    with np.errstate(all="ignore"):
        assert solved(step)[lm.OUTCOME] == lm.SINGULAR
    step, _, _, _ = begun("pbd", max_iterations=1)
    assert solved(step)[lm.OUTCOME] == lm.ITERATION_LIMIT


@pytest.mark.parametrize("method", METHODS)
def test_trajectories_are_steps_one_after_another(method):
    """Each with its torque; what fails is not written, and is told by the number of steps."""
    step, _, state, command = begun(method)
    torques = np.random.default_rng(0).standard_normal((3, step.nv))
    expected, at = [], state
    for tau in torques:
        made = step.method.step(at, Command(tau=tau, kp=command.kp, q_target=state.q), H)
        assert made.status.ok
        at = made.state
        expected.append(np.concatenate([at.q, at.v]))
    plan, x = new_plan(3, len(state.q), step.nv), np.full((3, len(expected[0])), np.nan)
    write_plan(plan, slice(None), Command(kp=command.kp, q_target=state.q))
    plan.tau[:] = torques
    assert step.method.advance(state, command, plan, 0, H, x)[0] == 3
    assert x == pytest.approx(np.array(expected), abs=ROUNDING)
    plan.tau[1], x[:] = np.nan, np.nan
    with np.errstate(all="ignore"):
        assert step.method.advance(state, command, plan, 0, H, x)[0] == 1
    assert x[0] == pytest.approx(expected[0], abs=ROUNDING)
    assert np.isnan(x[1:]).all()


@pytest.mark.parametrize(("share", "moves"), [(1.001, False), (0.999, True)])
def test_the_tolerance_of_a_trajectory_grows_with_the_configuration(share, moves):
    """As rounding errors do: floor (1 + |q|_max) above the first residual leaves all as it is."""
    step, _, state, _ = begun("pbd")
    step.begin(state, Command(), H)
    floor = np.linalg.norm(step.evaluate(state.q)) / (1.0 + np.abs(state.q).max())
    nq, x = len(state.q), np.full((1, len(state.q) + step.nv), np.nan)
    step.memory.tolerance, step.scene.tree.inertia = 0.0, share * floor * H**2 / lm.ROUNDING
    plan = new_plan(1, nq, step.nv)
    write_plan(plan, 0, Command())
    assert lm.roll(step.memory, plan, 0, x) == 1
    assert np.array_equal(x[0, :nq], state.q) is not moves


@pytest.mark.parametrize("law", [LAW, OTHER_EXPONENTS], ids=["paper", "other"])
@pytest.mark.parametrize("ground", ["tilted", "sphere"])
@pytest.mark.parametrize("method", METHODS)
def test_derivatives_by_the_start(method, ground, law):
    """Central differences of the residual by q0 and v0, its end held."""
    step, q, state, command = begun(method, ground, law)
    step.evaluate(q)
    assert step.wrenches.any()
    nv = step.nv
    found = step.method.partials(state, command, H, q).of_start[:, : 2 * nv]

    def residual(dx):
        start = State(0.0, pin.integrate(step.model, state.q, dx[:nv]), state.v + dx[nv:])
        step.begin(start, command, H)
        return step.evaluate(q)

    samples.assert_same(found, samples.central_differences(residual, 2 * nv))


@pytest.mark.parametrize("kind", ["box", "link"])
@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_contacts_between_bodies(method, kind):
    """By the end and by the start of the step: both bodies move, and turn the axes of the touch."""
    _, q, _ = body_scenes.in_contact(kind, samples.CONE, seed=3)
    robot, rng = body_scenes.robot(kind), np.random.default_rng(1)
    model, nv = robot.model, robot.model.nv
    q0 = pin.integrate(model, q, 0.03 * rng.standard_normal(nv))
    v0, command = rng.standard_normal(nv), Command(kp=np.ones(nv), q_target=q0)
    step = Step(method, OTHER_EXPONENTS, robot, body_scenes.FAR)

    def residual(dx):
        start = State(0.0, pin.integrate(model, q0, dx[:nv]), v0 + dx[nv : 2 * nv])
        step.begin(start, command, H)
        return step.evaluate(step.retract(q, dx[2 * nv :]))

    residual(np.zeros(3 * nv))
    assert (step.depths > 0.0).sum() >= 2
    of_start = step.method.partials(State(0.0, q0, v0), command, H, q).of_start
    residual(np.zeros(3 * nv))  # of the contacts that `partials` selected
    A = step.linearise()
    expected = samples.central_differences(residual, 3 * nv)
    samples.assert_same(of_start[:, : 2 * nv], expected[:, : 2 * nv])
    samples.assert_same(A, expected[:, 2 * nv :])
