"""Panels of a plot: what moved, what pushed, and what the solver did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nmdp_pin._runs.motion import JointMotion, Motion, ObjectMotion
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_summary import base_moves, distance, height, tilt
from nmdp_pin.viz.style import COLORS, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINES = 8
"""Joints, contact points and objects up to which each has its own line."""

_GREY = "0.6"
LENGTH, ANGLE, FORCE, ENERGY = 0.01, 1.0, 0.1, 0.01
"""What an axis spans at least [m or rad], [deg], [N or N m], [J]."""

_ROUNDING = 1e-9  # change that counts as none, in the unit of a panel and of its first value
_SEEN = 1e-3  # change that is seen, as a share of what the axis spans


@dataclass(frozen=True, eq=False)
class Panel:
    """Panel of a plot.

    Args:
        draw: draws the curves into axes.
        curves: values of the curves, shapes (n,) or (n, k); of steps without the first row.
        least: what the axis spans at least, so that rounding fills no panel.
        zero: whether the axis begins at zero.
    """

    draw: Callable[[Axes], None]
    curves: Sequence[np.ndarray]
    least: float = 0.0
    zero: bool = False

    def fill(self, axis: Axes) -> None:
        """Draw the curves, and widen the axis to what it spans at least."""
        self.draw(axis)
        low, high = axis.get_ylim()
        if self.zero:
            axis.set_ylim(0.0, max(high, self.least))
        elif high - low < self.least:
            middle = 0.5 * (low + high)
            axis.set_ylim(middle - 0.5 * self.least, middle + 0.5 * self.least)

    @property
    def varies(self) -> bool:
        """Whether a curve is seen to be no constant."""
        return any(map(self._varies, self.curves))

    def _varies(self, values: np.ndarray) -> bool:
        """Whether a value differs from the first, shape (n,) or (n, k)."""
        first = values[:1]
        none = np.maximum(_ROUNDING * (1.0 + np.abs(first)), _SEEN * self.least)
        return bool((np.abs(values - first) > none).any())


def motion_panels(recording: Recording, motion: Motion) -> list[Panel]:
    """Panels of moving parts: base, joints, objects."""
    t = recording.t
    panels: list[Panel] = []
    if base_moves(recording) or not (motion.joints or motion.objects):
        for color, y, name, least, zero in (
            (COLORS[0], height(recording), "base height [m]", LENGTH, False),
            (COLORS[1], tilt(recording), "base tilt [°]", ANGLE, True),
            (COLORS[2], distance(recording), "distance [m]", LENGTH, True),
        ):
            draw = partial(curve, t=t, y=y, name=name, color=color)
            panels.append(Panel(draw, [y], least, zero))
    joints = _most(motion.joints, lambda joint: joint.travel)
    if joints:
        q, targets = [joint.q for joint in joints], [joint.target[1:] for joint in joints]
        draw = partial(_positions, t=t, joints=joints, total=len(motion.joints))
        panels.append(Panel(draw, [*q, *targets], LENGTH))
        off = [target - at[1:] for at, target in zip(q, targets, strict=True)]
        panels.append(Panel(partial(_tracking, t=t, joints=joints), off, LENGTH))
    strongest = _most([joint for joint in motion.joints if joint.driven], _torque)
    if strongest:
        torques = [joint.torque[1:] for joint in strongest]
        panels.append(Panel(partial(_torques, t=t, joints=strongest), torques, FORCE))
    objects = motion.objects[:MAX_LINES]
    if objects:
        draw = partial(_object_places, t=t, objects=objects)
        panels.append(Panel(draw, [item.position for item in objects], LENGTH))
        draw = partial(_object_turns, t=t, objects=objects)
        panels.append(Panel(draw, [np.degrees(item.turned) for item in objects], ANGLE, zero=True))
    return panels


def sensor_panels(recording: Recording) -> list[Panel]:
    """A panel for each sensor but cameras: of many components those with the largest range."""
    panels = []
    for name, readings in recording.readings.items():
        if readings.ndim == 2:
            draw = partial(_readings, t=recording.t, readings=readings, name=name)
            panels.append(Panel(draw, [readings]))
    return panels


def _readings(axis: Axes, t: np.ndarray, readings: np.ndarray, name: str) -> None:
    shown = np.sort(np.argsort(-np.ptp(readings, axis=0), kind="stable")[:MAX_LINES])
    for color, k in zip(COLORS, shown.tolist(), strict=False):
        curve(axis, t, readings[:, k], literal(name), color=color, label=str(k))
    _legend(axis, columns=MAX_LINES)


def _most(joints: Sequence[JointMotion], size: Callable[[JointMotion], float]) -> list[JointMotion]:
    """The `MAX_LINES` joints of which `size` is largest, in their own order."""
    order = sorted(range(len(joints)), key=lambda k: -size(joints[k]))
    return [joints[k] for k in sorted(order[:MAX_LINES])]


def _torque(joint: JointMotion) -> float:
    return float(np.abs(joint.torque).max())


def run_panels(recording: Recording) -> list[Panel]:
    """Forces, energy, and the work of the solver."""
    force = recording.contact_forces
    level = force[:, :, :2]
    panels: list[Panel] = []
    if force.any():
        for values, total, name in (
            (force[:, :, 2], force[:, :, 2].sum(axis=1), "vertical contact force [N]"),
            (
                np.linalg.norm(level, axis=2),
                np.linalg.norm(level.sum(axis=1), axis=1),
                "horizontal contact force [N]",
            ),
        ):
            draw = partial(_forces, recording=recording, values=values, total=total, name=name)
            panels.append(Panel(draw, [values[1:]], FORCE))
    usual = np.append(recording.dt, recording.step_size[1:])  # halved from it
    energies = [recording.kinetic_energy, recording.potential_energy]
    return [
        *panels,
        Panel(partial(_energies, recording=recording), energies, ENERGY),
        Panel(partial(_objective, recording=recording), [recording.objective[1:]], ENERGY),
        Panel(partial(_iterations, recording=recording), [recording.iterations[1:]], zero=True),
        Panel(partial(_step_sizes, recording=recording), [usual], zero=True),
    ]


def curve(
    axis: Axes,
    t: np.ndarray,
    y: np.ndarray,
    name: str,
    *,
    color: str = COLORS[0],
    label: str | None = None,
) -> None:
    """A curve of a value at the ends of steps."""
    label = None if label is None else literal(label)
    axis.plot(t, y, color=color, label=label, linewidth=1.3, alpha=0.9)
    axis.set_ylabel(name)


def stairs(axis: Axes, t: np.ndarray, y: np.ndarray, name: str, color: str) -> None:
    """A value that belongs to the whole step that ends at t; the first row is no step."""
    axis.step(t[1:], y[1:], where="pre", color=color, linewidth=1.0)
    axis.set_ylabel(name)


def _units(joints: Sequence[JointMotion]) -> str:
    return ", ".join(sorted({joint.unit for joint in joints}, reverse=True))


def _positions(axis: Axes, t: np.ndarray, joints: Sequence[JointMotion], total: int) -> None:
    for k, joint in enumerate(joints):
        curve(axis, t, joint.q, "", color=COLORS[k], label=joint.name)
        axis.plot(t, joint.target, color=COLORS[k], linewidth=1.0, linestyle="--")
    some = f"\n({len(joints)} of {total} that move most)" if len(joints) < total else ""
    dashed = "" if all(np.isnan(joint.target).all() for joint in joints) else ", targets dashed"
    axis.set_ylabel(f"joints [{_units(joints)}]{dashed}{some}")
    _legend(axis, columns=4)


def _tracking(axis: Axes, t: np.ndarray, joints: Sequence[JointMotion]) -> None:
    for k, joint in enumerate(joints):
        curve(axis, t, joint.target - joint.q, "", color=COLORS[k])
    axis.set_ylabel(f"target less joint [{_units(joints)}]")


def _torques(axis: Axes, t: np.ndarray, joints: Sequence[JointMotion]) -> None:
    """Shares of the limits where all joints have one, else torques."""
    limited = all(np.isfinite(joint.limit) for joint in joints)
    for k, joint in enumerate(joints):
        torque = 100.0 * joint.torque / joint.limit if limited else joint.torque
        stairs(axis, t, torque, "", COLORS[k])
        axis.lines[-1].set_label(literal(joint.name))
    if limited:
        for limit in (-100.0, 100.0):
            axis.axhline(limit, color="red", linewidth=0.9, linestyle="--")
    axis.set_ylabel("torque [% of its limit]" if limited else "torque [N m, N]")
    _legend(axis, columns=4)


def _object_places(axis: Axes, t: np.ndarray, objects: Sequence[ObjectMotion]) -> None:
    for k, item in enumerate(objects):
        moved = item.position - item.position[0]
        for way, style in enumerate(("-", "--", ":")):
            color = COLORS[k] if len(objects) > 1 else COLORS[way]
            name = f"{item.name} {'xyz'[way]}"
            axis.plot(t, moved[:, way], style, color=color, linewidth=1.3, label=literal(name))
    axis.set_ylabel("objects moved [m]")
    _legend(axis, columns=6)


def _object_turns(axis: Axes, t: np.ndarray, objects: Sequence[ObjectMotion]) -> None:
    for k, item in enumerate(objects):
        curve(axis, t, np.degrees(item.turned), "", color=COLORS[k], label=item.name)
    axis.set_ylabel("objects turned [°]")
    _legend(axis)


def _forces(
    axis: Axes, recording: Recording, values: np.ndarray, total: np.ndarray, name: str
) -> None:
    """Force of each contact point, or of those that push the most, and the resultant of all."""
    names = recording.contact_names
    strongest = np.argsort(-np.abs(values).max(axis=0), kind="stable")[:MAX_LINES]
    touching = [k for k in sorted(strongest) if np.abs(values[:, k]).max() > 0.0]
    # Thinner and thinner, so that forces that are alike are all seen.
    widths = np.linspace(3.0 if len(touching) > 1 else 1.3, 1.0, len(touching))
    for color, k, width in zip(COLORS, touching, widths, strict=False):
        axis.plot(recording.t, values[:, k], color=color, label=literal(names[k]), linewidth=width)
    if len(touching) > 1:
        axis.plot(recording.t, total, color=_GREY, linewidth=0.9, label="resultant", zorder=1)
    axis.set_ylabel(name)
    _legend(axis)


def _energies(axis: Axes, recording: Recording) -> None:
    potential = recording.potential_energy - recording.potential_energy[0]
    curve(axis, recording.t, recording.kinetic_energy, "", color=COLORS[1], label="kinetic")
    curve(axis, recording.t, potential, "", color=COLORS[4], label="potential, from the start")
    axis.set_ylabel("energy [J]")
    _legend(axis)


def _objective(axis: Axes, recording: Recording) -> None:
    curve(axis, recording.t, recording.objective, _objective_name(recording), color=COLORS[5])


def _objective_name(recording: Recording) -> str:
    """Objective of the method and its unit."""
    integrator = (recording.meta.get("scenario") or {}).get("integrator") or {}
    method, objective = integrator.get("name"), integrator.get("objective")
    if method in ("pbd", "pbfd"):
        return "energy of the step [J]" if method == "pbd" else "residual as an energy [J]"
    if method in ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp"):
        return {
            None: "work that other forces\nwould save [J]",
            "dissipation": "work that other forces\nwould save [J]",
            "kinetic": "kinetic energy K [J]",
            "end_effector": "K of contact points\nwith 1 kg each [J]",
        }.get(objective, "objective K")
    return "kinetic energy K [J]" if method else "objective K"


def _iterations(axis: Axes, recording: Recording) -> None:
    stairs(axis, recording.t, recording.iterations, "outer iterations", COLORS[0])


def _step_sizes(axis: Axes, recording: Recording) -> None:
    stairs(axis, recording.t, 1e3 * recording.step_size, "smallest sub-step [ms]", COLORS[3])
    axis.set_ylim(0.0, 1.1e3 * recording.step_size.max() or 1.0)
    halved = np.flatnonzero(recording.halvings > 0)
    if halved.size:
        axis.plot(
            recording.t[halved],
            1e3 * recording.step_size[halved],
            linestyle="none",
            marker="v",
            markersize=4,
            color=COLORS[1],
            label=f"halved steps: {halved.size}",
        )
        _legend(axis)


def _legend(axis: Axes, *, columns: int = 5) -> None:
    """Names of the curves above the panel, where they hide nothing."""
    handles, names = axis.get_legend_handles_labels()
    if not names:
        return
    # Long names in as many rows as they need.
    longest = max(map(len, names))
    axis.legend(
        handles,
        names,
        loc="lower right",
        bbox_to_anchor=(1.0, 0.98),
        fontsize=8 if longest < 24 else 6.5,
        ncols=min(columns, max(96 // (longest + 6), 1)),
        frameon=False,
        borderaxespad=0.0,
        columnspacing=1.2,
    )
