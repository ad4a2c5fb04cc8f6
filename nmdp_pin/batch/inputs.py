"""What a batch is asked to do: arrays checked, brought to three axes, K and T found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import pinocchio as pin

from nmdp_pin.argument_check import MAX_STEP
from nmdp_pin.errors import BatchError
from nmdp_pin.number_array import numbers

_NORM_TOLERANCE = 1e-6  # on the norm of quaternions and (cos, sin) pairs


@dataclass(frozen=True, eq=False)
class Inputs:
    """K trajectories of T steps, checked.

    Args:
        h: length of a step [s].
        K: how many trajectories.
        T: how many steps.
        q0: starts, (K, nq).
        v0: velocities there, (K, nv).
        kp: position gains, shape (nv,); None: none.
        kd: velocity gains, shape (nv,).
        tau: torque, with what kd gives for v_target, (K or 1, T or 1, nv).
        q_target: targets of kp, (K or 1, T or 1, nq); None without kp.
    """

    h: float
    K: int
    T: int
    q0: np.ndarray
    v0: np.ndarray
    kp: np.ndarray | None
    kd: np.ndarray
    tau: np.ndarray
    q_target: np.ndarray | None

    @classmethod
    def checked(
        cls, model: pin.Model, h: float, steps: int | None, arrays: Mapping[str, np.ndarray | None]
    ) -> Inputs:
        """Arrays as `Batch.rollout` takes them.

        Raises:
            BatchError: one of the wrong shape, not finite, or off its manifold.
        """
        if not (isinstance(h, Real) and 0.0 < h <= MAX_STEP):
            raise BatchError(f"h must be a length in (0, {MAX_STEP:g}] s, got {h!r}")
        nq, nv = model.nq, model.nv
        sizes = {"q0": nq, "v0": nv, "tau": nv, "q_target": nq, "v_target": nv}
        tables = {
            name: _table(name, arrays[name], size, steps=name not in ("q0", "v0"))
            for name, size in sizes.items()
            if arrays[name] is not None
        }
        K = _length("first", {name: len(table) for name, table in tables.items()})
        along = {n: t.shape[1] for n, t in tables.items() if n not in ("q0", "v0")}
        if steps is not None:
            if not (isinstance(steps, Integral) and steps >= 1):
                raise BatchError(f"steps must be an integer >= 1, got {steps!r}")
            along["steps"] = int(steps)
        elif max(along.values(), default=1) == 1 and "tau" not in along:
            raise BatchError("say how many steps to make: give steps, or tau of shape (K, T, nv)")
        T = _length("second", along)
        if "steps" in along and along["steps"] != T:
            raise BatchError(f"steps = {steps}, but the arrays have {T}; leave steps out")
        gains = {name: _gains(name, arrays[name], nv) for name in ("kp", "kd")}
        if gains["kp"] is not None and "q_target" not in tables:
            raise BatchError("kp is given without q_target: say where the joints should go")
        for name in {"q0", "q_target"} & set(tables):
            _check_manifold(model, name, tables[name].reshape(-1, nq))
        kd = np.zeros(nv) if gains["kd"] is None else gains["kd"]
        rest = np.zeros((1, 1, nv))
        return cls(
            h=float(h),
            K=K,
            T=T,
            q0=np.broadcast_to(tables["q0"][:, 0], (K, nq)),
            v0=np.broadcast_to(tables.get("v0", rest)[:, 0], (K, nv)),
            kp=gains["kp"],
            kd=kd,
            tau=tables.get("tau", rest) + kd * tables.get("v_target", rest),
            q_target=tables.get("q_target") if gains["kp"] is not None else None,
        )


def _table(name: str, value: object, size: int, *, steps: bool) -> np.ndarray:
    """Finite floats of shape (K, T, size); leading axes that are left out have length 1."""
    table = numbers(name, value, BatchError)
    shapes = f"({size},), (K, {size})" if not steps else f"({size},), (T, {size}), (K, T, {size})"
    if not 1 <= table.ndim <= (3 if steps else 2) or table.shape[-1] != size or not table.size:
        raise BatchError(f"{name} has shape {table.shape}, expected one of {shapes}")
    if not np.isfinite(table).all():
        raise BatchError(f"{name} must hold finite numbers; {np.sum(~np.isfinite(table))} are not")
    if steps:
        return table.reshape((1,) * (3 - table.ndim) + table.shape)
    return table.reshape(-1, 1, size)


def _gains(name: str, value: object, nv: int) -> np.ndarray | None:
    """Gains of all joints, None for none."""
    if value is None:
        return None
    gains = np.asarray(value, dtype=float)
    if gains.shape != (nv,):
        raise BatchError(f"{name} has shape {gains.shape}, expected ({nv},)")
    if not (np.isfinite(gains) & (gains >= 0.0)).all():
        raise BatchError(f"{name} must hold finite numbers >= 0, got {gains}")
    return gains


def _length(axis: str, lengths: Mapping[str, int]) -> int:
    """The one length other than 1."""
    longest = max(lengths.values(), default=1)
    for name, length in lengths.items():
        if length not in (1, longest):
            given = ", ".join(f"{n}: {k}" for n, k in lengths.items())
            raise BatchError(
                f"the {axis} axis of {name} has length {length}, but must have {longest} or 1 "
                f"({given})"
            )
    return longest


def _check_manifold(model: pin.Model, name: str, rows: np.ndarray) -> None:
    if model.nq == model.nv:
        return
    for row in rows:
        if not pin.isNormalized(model, row, _NORM_TOLERANCE):
            raise BatchError(
                f"{name} holds {row}, which is no configuration: a quaternion or (cos, sin) pair "
                "in it is not of unit length; use pinocchio.normalize(model, q)"
            )
