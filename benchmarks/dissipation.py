"""How the dissipation principle is solved: work, matrices, and the energy that solutions gain.

OMP_NUM_THREADS=1 python benchmarks/dissipation.py [SCENARIO ...] [--definite] [--any-root]
    [--roots] [--dt DT ...] [--order N ...] [--duration SECONDS] [--set KEY=VALUE ...]

--definite solves a quadratic program with the positive definite model D' M D + D kd + kp of dG/dq
in place of the affine inequality with the exact matrix. --any-root takes every root of G = 0,
those that gain energy as well. --roots looks for further roots instead: after each step it starts
the projection at ten random places around the solution, with the weights of the solution.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.integrators import nmdp
from nmdp_pin.integrators.energy_bound import LEAST_GAIN
from nmdp_pin.integrators.local_solver import PrincipleSolver
from nmdp_pin.scenario import Scenario
from nmdp_pin.scenario.scenario import Setup
from nmdp_pin.solvers.projection import project
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.solvers.simplex_vi import SimplexVI

SCENARIOS = ("robosimian-jump", "robosimian-walk-fast", "spider-jump", "spider-walk")
STEPS = (0.005, 0.05)
FAR = (0.5, 1.0)  # [rad, m] standard deviation of a random start, and what makes a root another
TRIES = 10
NEGATIVE = -1e-6  # eigenvalue, relative to the largest, from which a matrix is indefinite


class WatchedVI(SimplexVI):
    """Counts the matrices whose symmetric part is indefinite, and may solve with a model."""

    def __init__(self, residual: StepResidual, shape: tuple[int, int], definite: bool) -> None:
        super().__init__(*shape)
        self.residual, self.definite = residual, definite
        self.qp, self.asked, self.indefinite = SimplexQP(*shape), 0, 0
        self._g: np.ndarray | None = None

    def solve(self, M: np.ndarray, g: np.ndarray, x0: np.ndarray) -> np.ndarray | None:
        """See the base."""
        if self._g is not g:  # not a second try from the same point
            self._g = g
            self.asked += 1
            eigenvalues = np.linalg.eigvalsh(0.5 * (M + M.T))
            self.indefinite += int(eigenvalues[0] < NEGATIVE * np.abs(eigenvalues).max())
            if self.definite:
                self._exact, self._model = M, self._definite_model()
        if not self.definite:
            return super().solve(M, g, x0)
        least = 1e-6 * self._model.diagonal().max()
        proximal = np.diag(M.diagonal() - self._exact.diagonal() + least)
        return self.qp.solve(self._model + proximal, g, x0)

    def _definite_model(self) -> np.ndarray:
        r = self.residual
        D = r.velocity_derivative()
        D = r.rate * np.eye(r.nv) if D is None else D
        S = r.acceleration_rate / r.rate * D.T @ r.mass_matrix() @ D + r.torque.kd[:, None] * D
        if r.torque.kp is not None:
            S += np.diag(r.torque.kp)
        B = r.vertex_jacobian()
        model: np.ndarray = B @ np.linalg.solve(S, B.T)
        return 0.5 * (model + model.T)


def prepared(name: str, dt: float, order: int, overrides: list[str]) -> tuple[Setup, nmdp.Nmdp]:
    """A scenario under the principle, and its method."""
    settings = [f"integrator.dt={dt}", f"integrator.order={order}", *overrides]
    settings.append('integrator.objective="dissipation"')
    setup = Scenario.load(name, overrides=settings).build(visuals=False)
    method = setup.simulator._integrator
    if not isinstance(method, nmdp.Nmdp):
        raise SystemExit(f"method '{method.name}' has no objective")
    return setup, method


def other_roots(name: str, dt: float, order: int, arguments: argparse.Namespace) -> str:
    """One row of the table of roots."""
    setup, method = prepared(name, dt, order, arguments.overrides)
    residual, random = method.residual, np.random.default_rng(0)
    found, steps, refused, far = 0, 0, 0, []
    for result in setup.simulator.run(
        setup.state, setup.controller, dt=dt, duration=arguments.duration
    ):
        if not result.status.ok or result.halvings:
            continue
        steps += 1
        q, w = result.state.q, residual.contact.w
        tolerance = residual.tolerance(1e-8)
        for _ in range(TRIES):
            start = residual.retract(q, FAR[0] * random.standard_normal(residual.nv))
            with np.errstate(all="ignore"):
                root = project(residual, start, w, tolerance=tolerance, max_iterations=50)
            if not root.status.ok:
                continue
            found += 1
            if np.abs(residual.difference(q, root.q)).max() > FAR[1]:
                pair = residual.energy_gain(root.q)
                if np.isfinite(pair).all():
                    far.append(pair)
                    refused += method._refuses(*pair)
    gain, moving = sorted(far)[len(far) // 2] if far else (0.0, 0.0)
    return (
        f"| {name} | {order} | {1e3 * dt:g} | {TRIES * steps} | {found} | {len(far)} "
        f"| {refused} | {gain:.3g} | {moving:.3g} |"
    )


def run(name: str, dt: float, order: int, arguments: argparse.Namespace) -> str:
    """One row of the table."""
    setup, method = prepared(name, dt, order, arguments.overrides)
    residual = method.residual
    shape = (len(setup.robot.contact_points), setup.simulator.contact.n_vertices)
    vi = WatchedVI(residual, shape, arguments.definite)
    method.solver = PrincipleSolver(residual, vi)
    if arguments.any_root:
        method._refuses = lambda gain, moving: False  # type: ignore[method-assign]
    results, gains = [], []
    begin = time.perf_counter()
    for result in setup.simulator.run(
        setup.state, setup.controller, dt=dt, duration=arguments.duration
    ):
        results.append(result)
        if result.status.ok:  # of a halved step: its last part
            gains.append(residual.energy_gain(result.state.q))
    wall = time.perf_counter() - begin
    lift = LEAST_GAIN * residual.weight
    shares = [(gain - lift) / moving for gain, moving in gains if gain > lift]
    return (
        f"| {name} | {order} | {1e3 * dt:g} | {np.mean([r.iterations for r in results]):.1f} "
        f"| {np.mean([r.evaluations for r in results]):.1f} "
        f"| {sum(r.halvings > 0 for r in results)} | {sum(not r.status.ok for r in results)} "
        f"| {1e3 * wall / len(results):.2f} | {vi.indefinite / max(vi.asked, 1):.2f} "
        f"| {max(shares, default=0.0):.3g} | {max((gain for gain, _ in gains), default=0.0):.3g} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--definite", action="store_true", help="solve with a definite model")
    parser.add_argument("--any-root", action="store_true", help="take roots that gain energy")
    parser.add_argument("--roots", action="store_true", help="look for other roots")
    parser.add_argument("--dt", nargs="*", type=float, default=STEPS)
    parser.add_argument("--order", nargs="*", type=int, default=(1, 2))
    parser.add_argument("--duration", type=float, default=3.0)
    parser.add_argument("--set", nargs="*", default=[], dest="overrides")
    arguments = parser.parse_args()
    if arguments.roots:
        print(
            "| scenario | order | dt ms | starts | roots found | of them far away "
            "| refused for their energy | median gain J | energy that moves there J |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
    else:
        print(
            "| scenario | order | dt ms | outer | evaluations | halved | failed | ms a step "
            "| indefinite | largest gain beyond 1 cm, of the moving energy | largest gain J |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|")
    row = other_roots if arguments.roots else run
    for name in arguments.scenarios:
        for order in arguments.order:
            for dt in arguments.dt:
                print(row(name, dt, order, arguments), flush=True)


if __name__ == "__main__":
    main()
