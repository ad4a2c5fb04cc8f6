"""Records of a step: its options and scheme, its start, its memory and its end."""

from __future__ import annotations

from typing import NamedTuple

from nmdp_pin._kernels.compiler.jit import Array
from nmdp_pin._kernels.compiler.record import record
from nmdp_pin._kernels.step.islands import Islands
from nmdp_pin._kernels.step.outcomes import COUNTERS
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, StageJacobians, System
from nmdp_pin._kernels.tree.joints import Commands

# Further counters of a step: the order of the scheme that made it, and the contacts that touch.
ORDER, TOUCHING, STEP_COUNTERS = range(COUNTERS, COUNTERS + 3)

# Numbers of a step.
OF_RESIDUAL, OF_GAP, KINETIC, POTENTIAL = range(4)


@record
class Options:
    """Options of the solver.

    Args:
        tolerance: tolerance of the norm of G over the weight, in stages that are long.
        slip: sliding velocity that other forces could still prevent at a contact [m/s], likewise.
        long: length of a stage that is long [s].
        max_iterations: largest number of iterations from one initial guess.
        warm_start: whether to begin with the last forces or weights; else with w = 0.
        restarts: whether to try other guesses where the first one fails.
        budget: largest work of a step, in evaluations.
        share: share of the energy that moves which a step may gain.
        minimiser: number of the object that solves the stages, 0: Newton's method.
    """

    tolerance: float
    slip: float
    long: float
    max_iterations: int
    warm_start: bool
    restarts: bool
    budget: int
    share: float
    minimiser: int


@record
class Scheme:
    """A diagonally implicit Runge-Kutta method whose last stage is the end of the step.

    Args:
        order: order of the method on smooth motion.
        a: Butcher matrix, lower triangular, shape (s, s).
    """

    order: int
    a: Array


@record
class Start:
    """Start of a step.

    Args:
        values: numbers of q, v, a, tau, joints and commands, one after another.
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        a: acceleration at the end of the step before, with which a step is predicted, (nv,).
        tau: joint torques at the end of the step before [N m, N], shape (nv,).
        joints: forces or weights of the joints with a stop or dry friction, shape (r,).
        commands: commands of the stages.
        touching: number of contacts that touched at the end of the step before.
        contacts: their identities, ascending, shape (>= touching,).
        w: their forces, world frame [N], or weights, shape (>= touching, m).
        held: whether each of c loops holds in the step, shape (c,).
        h: length of the step [s].
        rolling: whether contacts may move along curved surfaces in it.
    """

    values: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    joints: Array
    commands: Commands
    touching: int
    contacts: Array
    w: Array
    held: Array
    h: float
    rolling: bool


class Known(NamedTuple):
    """With what a step is predicted: fields of `Start`, or of an end that lacks some contacts."""

    a: Array
    tau: Array
    joints: Array
    touching: int
    contacts: Array
    w: Array


@record
class Memory:
    """Memory of a step, whose contents are nothing before and after it but for the last points.

    Args:
        stage: equations of the present stage.
        origin: the start of the step, of which the kinematics is known.
        scratch: another point.
        points: a pair for each stage of the step, and one for its repetition: the stage ends at
            one of the two, the other one is a trial.
        linear: derivatives.
        w: forces or weights to begin with, shape (k + r, m).
        predicted_acceleration: acceleration with which a stage is predicted, shape (nv,).
        steady: whether the torques at the start are about those at the end of the step before.
        rates: rates of the placements of the bodies at the start, shape (n, 4, 3).
        slopes: accelerations of the placements at the end of the first stage, shape (n, 4, 3).
        velocities: velocities of the contacts and of the joints at the start, (k + r, 3).
        acceleration: acceleration at the end of the step that was tried first, shape (nv,).
        islands: islands of the contacts.
        suspects: contacts and joints whose motion a step of first order has to confirm, (k + r,).
        touched: contacts that touch at the end of the step, (k + r,).
    """

    stage: Stage
    origin: StageIterate
    scratch: StageIterate
    points: tuple[StageIterate, ...]
    linear: StageJacobians
    w: Array
    predicted_acceleration: Array
    steady: bool
    rates: Array
    slopes: Array
    velocities: Array
    acceleration: Array
    islands: Islands
    suspects: Array
    touched: Array


@record
class End:
    """End of a step; all arrays are written.

    Args:
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        a: acceleration, shape (nv,).
        tau: joint torque of the command [N m, N], shape (nv,).
        wrenches: mean wrenches of the contact points about their centres, world, shape (p, 6).
        depths: penetrations of the contact points, 0 when apart [m], shape (p,).
        error: estimated error of the configuration, shape (nv,).
        contacts: identities of the contacts that touch, shape (k,).
        w: their forces, world frame [N], or weights, shape (k, m).
        joints: forces or weights of the joints, shape (r,).
        repeated: whether the step of a dof is a repetition in first order, shape (nv,).
        counts: counters, shape (7,).
        numbers: residual, gap and energies, shape (4,).
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    wrenches: Array
    depths: Array
    error: Array
    contacts: Array
    w: Array
    joints: Array
    repeated: Array
    counts: Array
    numbers: Array


@record
class Step:
    """A step.

    Args:
        system: what all steps share.
        options: options of the solver.
        scheme: time scheme.
        first_order: time scheme of the repetition.
        start: start of the step.
        memory: memory.
        end: end of the step.
    """

    system: System
    options: Options
    scheme: Scheme
    first_order: Scheme
    start: Start
    memory: Memory
    end: End
