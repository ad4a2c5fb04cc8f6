"""Energies that islands gain in a step, and what of them is acceptable."""

from __future__ import annotations

from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.step.impacts import write_elastic_energies
from nmdp_pin._kernels.step.islands import Islands, add_work, write_energies
from nmdp_pin._kernels.step.stage_records import StageIterate, System
from nmdp_pin._kernels.step.step_records import Memory, Options

_LEAST_GAIN = 0.01  # [m] by which the energy that a step gains may lift the robot's weight


@jit
def gains_little(system: System, options: Options, at: StageIterate, memory: Memory) -> bool:
    """Whether the energies that the islands gain in a stage are acceptable.

    An implicit step loses energy: in first order v' M (v - v0) is more than the change of
    v' M v / 2, and contact forces only dissipate. Large turns and steps of second order may add a
    share of the energy that moves (docs/choices.md, 14).
    """
    islands = memory.islands
    for k in range(islands.count[0]):
        islands.work[k] = islands.given[k]
    contacts, rate = memory.stage.contacts, memory.stage.rate
    add_work(system, contacts, at, 1.0 / rate, islands, islands.work)
    write_energies(system, at, islands, islands.kinetic, islands.potential, islands.springs)
    write_elastic_energies(system, memory.stage, at, islands, islands.elastic)
    some = False
    for k in range(islands.count[0]):
        some |= gains_too_much(islands, k, options.share)
    return not some


@jit
def gains_too_much(islands: Islands, k: int, share: float) -> bool:
    """Write the energy that an island gains by its energies and work; whether it is too much.

    What contacts and stops have given back since the start is no gain.
    """
    done = islands.work[k] + max(islands.elastic0[k] - islands.elastic[k], 0.0)
    gain = islands.kinetic[k] + islands.potential[k] - done
    islands.gain[k] = gain - islands.kinetic0[k] - islands.potential0[k]
    moving = islands.kinetic0[k] + max(done, 0.0)
    moving += max(islands.springs0[k] - islands.springs[k], 0.0)
    return not islands.gain[k] <= allowed_gain(islands.weight[k], share, moving)


@jit
def allowed_gain(weight: float, share: float, moving: float) -> float:
    """The largest acceptable gain of energy [J].

    Args:
        weight: weight of what moves [N].
        share: share of the energy that moves.
        moving: energy that moves: kinetic energy at the start, the work of the torques, and what
            springs gave [J].
    """
    return share * moving + _LEAST_GAIN * weight
