"""Many trajectories of one robot at a time, by PBD or PBFD, on XLA."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from numbers import Integral
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from nmdp_pin.batch.conservative_contacts import ConservativeContacts
from nmdp_pin.batch.contacts import FrictionalContacts
from nmdp_pin.batch.inputs import Inputs
from nmdp_pin.batch.problem import Energy, Gains, GradientLevel, Problem
from nmdp_pin.batch.result import BatchResult
from nmdp_pin.batch.schedule import Commands, Ends, Schedule
from nmdp_pin.batch.surface import Ground
from nmdp_pin.batch.tree import Tree
from nmdp_pin.contact import Penalty
from nmdp_pin.control.controller import Command
from nmdp_pin.errors import BatchError
from nmdp_pin.integrators.pbd import Pbd, Pbfd, PositionBasedStep
from nmdp_pin.robot import Robot
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.system import System
from nmdp_pin.terrain import Terrain

_METHODS: dict[str, type[PositionBasedStep]] = {"pbd": Pbd, "pbfd": Pbfd}
_CACHE = 1.3e6  # [B] of a core, which the arrays of a chunk should fit (docs/batch.md)
_LEAST_CHUNK = 8  # below it the calls cost more than the sums
_LAW = frozenset(field.name for field in fields(Penalty))


class Batch:
    """Trajectories of one robot, K at a time: each step is one of `pbd` or `pbfd`.

    All trajectories advance together, one iteration of Levenberg-Marquardt a sweep; what has
    converged begins its next step with the next sweep. A step that fails is not halved: its
    trajectory stops there, and the others go on.

    Args:
        robot: what moves; joints of the kinds that `Tree` takes.
        terrain: planes, boxes, spheres and cylinders.
        method: "pbfd" or "pbd".
        precision: "double" or "single".
        tolerance: on the residual, relative to the robot's weight; None: 1e-8, in single
            precision 1e-4.
        max_iterations: of the optimiser, a step.
        chunk: how many trajectories advance together; None: on a CPU all over the number of
            cores, each core having its own chunks, and no more than fit its cache; on a GPU all.
        compiler_options: for XLA.
        options: of the method, as those of a Simulator; the optimiser is "jtj-lm", or "lm".

    Raises:
        BatchError: a joint, shape or option that a batch cannot take.
        IntegratorError, ContactError: an option out of its range.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain,
        method: str = "pbfd",
        *,
        precision: Literal["double", "single"] = "double",
        tolerance: float | None = None,
        max_iterations: int = 100,
        chunk: int | None = None,
        compiler_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if method not in _METHODS:
            raise BatchError(f"method must be one of {tuple(_METHODS)}, got {method!r}")
        if precision not in ("double", "single"):
            raise BatchError(f"precision must be 'double' or 'single', got {precision!r}")
        if options.get("optimiser") == "lbfgs":
            raise BatchError("a batch has the optimisers 'jtj-lm' and 'lm', not 'lbfgs'")
        if chunk is not None and not (isinstance(chunk, Integral) and chunk >= 1):
            raise BatchError(f"chunk must be an integer >= 1 or None, got {chunk!r}")
        if robot.contact_points.touches.any():
            raise BatchError(
                "a batch knows contacts with the terrain only, and this robot has contacts between "
                "bodies; step it with a Simulator, or leave out self_collision and objects"
            )
        self.robot, self.terrain, self.method = robot, terrain, method
        self.precision, self.chunk = precision, chunk
        single = precision == "single"
        self._tolerance = tolerance if tolerance is not None else (1e-4 if single else 1e-8)
        # the sequential method checks the options, and knows weight, law and tolerances
        options |= {"tolerance": self._tolerance, "max_iterations": max_iterations}
        try:
            law = Penalty(**{name: options.pop(name) for name in _LAW & set(options)})
            self._model = _METHODS[method](System(robot, terrain, law), **options)
        except TypeError as error:
            raise BatchError(f"method '{method}': {error}") from error
        schedule = Schedule(self._problem(), max_iterations, self._model.residual.weight)
        self._run = jax.jit(
            schedule.run, static_argnames="steps", compiler_options=compiler_options
        )
        self._programs: dict[str, jax.stages.Compiled] = {}

    def _problem(self) -> Problem:
        tree, ground, law = Tree.of(self.robot), Ground(self.terrain), self._model.law
        touches = len(tree.points) > 0
        if self.method == "pbfd":
            return GradientLevel(tree, FrictionalContacts(tree, ground, law) if touches else None)
        contacts = ConservativeContacts(tree, ground, law) if touches else None
        return Energy(tree, contacts, exact=self._model.optimiser == "lm")

    def rollout(
        self,
        q0: np.ndarray,
        v0: np.ndarray | None = None,
        tau: np.ndarray | None = None,
        *,
        h: float,
        steps: int | None = None,
        kp: np.ndarray | None = None,
        kd: np.ndarray | None = None,
        q_target: np.ndarray | None = None,
        v_target: np.ndarray | None = None,
    ) -> BatchResult:
        """Make T steps of each of K trajectories.

        K is the largest of the first axes; an axis of length 1 stands for all trajectories, one of
        length 1 in place of T for all steps. The command is that of `Command`, for the end of
        each step.

        Args:
            q0: configurations at the start, shape (K, nq) or (nq,).
            v0: velocities at the start, shape (K, nv) or (nv,); None is rest.
            tau: torques, shape (K, T, nv), or (T, nv) for all trajectories; None is none.
            h: length of a step [s].
            steps: T; None: that of `tau`.
            kp: position gains [N m/rad], shape (nv,).
            kd: velocity gains [N m s/rad], shape (nv,).
            q_target: targets of kp, shape (K, T, nq), (T, nq) or (nq,).
            v_target: targets of kd, shape (K, T, nv), (T, nv) or (nv,); None is rest.

        Raises:
            BatchError: an array of the wrong shape, not finite or off its manifold.
        """
        inputs = Inputs.checked(
            self.robot.model,
            h,
            steps,
            {
                "q0": q0,
                "v0": v0,
                "tau": tau,
                "kp": kp,
                "kd": kd,
                "q_target": q_target,
                "v_target": v_target,
            },
        )
        tolerances = self._tolerances(inputs.h)
        rows, program = self._chunks(inputs.K), self.compiled(inputs)
        threads = min(_cores(), len(rows))

        def run(chunk: np.ndarray) -> Ends:
            with jax.enable_x64(self.precision == "double"):  # holds in this thread alone
                arguments = self._arguments(inputs, chunk, tolerances)
                return jax.device_get(program(*arguments))

        if threads == 1:
            return _result(inputs, [run(chunk) for chunk in rows])
        with ThreadPoolExecutor(threads) as pool:
            return _result(inputs, list(pool.map(run, rows)))

    def compiled(self, inputs: Inputs) -> jax.stages.Compiled:
        """The program that advances a chunk; it is made once for arrays of the same shapes."""
        chunk = np.zeros(self.chunk_of(inputs.K), dtype=int)
        with jax.enable_x64(self.precision == "double"):
            arguments = self._arguments(inputs, chunk, (0.0, 0.0))
            shapes = str(jax.tree.map(jnp.shape, arguments))
            key = f"{inputs.T} {shapes}"
            if key not in self._programs:
                self._programs[key] = self._run.lower(*arguments, steps=inputs.T).compile()
        return self._programs[key]

    def chunk_of(self, K: int) -> int:
        """How many of K trajectories advance together."""
        if self.chunk is not None or jax.default_backend() != "cpu":
            return self.chunk or K
        nv = self.robot.model.nv
        size = 80.0 * nv * (nv + 15.0)  # [B] of one trajectory, about
        return min(-(-K // _cores()), max(int(_CACHE / size), _LEAST_CHUNK))

    def _chunks(self, K: int) -> np.ndarray:
        """The trajectories of each chunk, all of one size: the last one is repeated."""
        size = self.chunk_of(K)
        count = -(-K // size)
        return np.minimum(np.arange(count * size), K - 1).reshape(count, size)

    def _arguments(
        self, inputs: Inputs, chunk: np.ndarray, tolerances: tuple[float, float]
    ) -> tuple[Any, ...]:
        """What the schedule runs the trajectories of a chunk with."""
        dtype = np.float64 if self.precision == "double" else np.float32
        damping = np.array(self.robot.model.damping)
        kp, target = inputs.kp, inputs.q_target
        gains = Gains(
            h=jnp.asarray(inputs.h, dtype),
            kp=None if kp is None else jnp.asarray(kp[:, None], dtype),
            kd=jnp.asarray((inputs.kd + damping)[:, None], dtype),
        )

        def rows(table: np.ndarray) -> jax.Array:
            return jnp.asarray(table if len(table) == 1 else table[chunk], dtype)

        commands = Commands(rows(inputs.tau), None if target is None else rows(target))
        q, v = (jnp.asarray(a[chunk].T, dtype) for a in (inputs.q0, inputs.v0))
        return q, v, commands, gains, jnp.asarray(tolerances, dtype)

    def _tolerances(self, h: float) -> tuple[float, float]:
        """That on the residual, and its floor of rounding over 1 + |q|_max [N, N m]."""
        residual, standing = self._model.residual, self.robot.standing
        residual.begin(State(0.0, standing, np.zeros(residual.nv)), Command(), h)
        floor = residual.tolerance(0.0) / (1.0 + float(np.abs(standing).max()))
        if self.precision == "single":
            floor *= float(np.finfo(np.float32).eps / np.finfo(np.float64).eps)
        return self._tolerance * residual.weight, floor


def _cores() -> int:
    """Cores that run chunks side by side: of the processor, where that is what JAX runs on."""
    return len(os.sched_getaffinity(0)) if jax.default_backend() == "cpu" else 1


def _result(inputs: Inputs, ends: list[Ends]) -> BatchResult:
    """What was made, and for trajectories that failed their last good state."""
    K = inputs.K

    def gathered(name: str) -> np.ndarray:
        return np.concatenate([getattr(end, name) for end in ends])[:K]

    steps = gathered("k")
    rows = np.clip(np.arange(inputs.T + 1), 0, np.maximum(steps, 0)[:, None])[:, :, None]
    q, v = (
        np.take_along_axis(
            np.concatenate([start[:, None], gathered(name).astype(float)], axis=1), rows, axis=1
        )
        for start, name in ((inputs.q0, "q"), (inputs.v0, "v"))
    )
    known = list(Status)
    return BatchResult(
        q=q,
        v=v,
        statuses=tuple(known[code] for code in gathered("status").tolist()),
        iterations=gathered("counts"),
        steps=np.maximum(steps, 0),
        sweeps=np.array([int(end.sweeps) for end in ends]),
        chunk=len(ends[0].k),
    )
