"""Pairs that may touch, with what the contact law says of them."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from nmdp_pin._contact.contact_law import DryFriction
from nmdp_pin._contact.friction_cone import FrictionCone
from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._contact.wrench_space import WrenchSpace
from nmdp_pin._dynamics.parameters import shapes_of
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.geometry.contacts import ContactPairs
from nmdp_pin._kernels.geometry.shape_table import INDEX
from nmdp_pin._robot.body_surfaces import surface_names
from nmdp_pin.errors import ContactError


def pairs_of(system: System[Any], reach: float) -> ContactPairs:
    """Pairs that may touch, with what their contact law says of them.

    Args:
        system: simulated system.
        reach: distance up to which they are contacts of a step [m].
    """
    law, pairs = system.law, system.pairs
    distant = type(law) is not FrictionCone or law.zeta > 0.0
    all_act = distant or reach == np.inf
    return replace(
        pairs,
        reach=reach,
        distant=distant,
        solids_of=np.full_like(pairs.solids_of, -1) if all_act else pairs.solids_of,
        rolling=type(law) in (FrictionCone, DryFriction),
        stiffness=stiffnesses_of(system),
        rise=law.rise_rates(pairs.points, pairs.kinds[pairs.surfaces, INDEX])
        if isinstance(law, WrenchSpace)
        else pairs.rise,
    )


def stiffnesses_of(system: System[Any]) -> np.ndarray:
    """Stiffnesses of pairs; those that state none have that of the contact law [N/m^p], (k,)."""
    law, stated = system.law, system.pairs.stiffness
    own = np.nan  # of laws that have no single one
    if type(law) is FrictionCone:  # what is derived from it may differ
        own = law.stiffness
    elif isinstance(law, Penalty):
        own = float(law.normal_stiffness or np.nan)
    result: np.ndarray = np.where(np.isnan(stated), own, stated)
    return result


def refuse_stiffnesses(system: System[Any]) -> None:
    """Refuse contact stiffnesses of bodies and pairs where the contact law takes none.

    Raises:
        ContactError: one is stated.
    """
    law, robot = system.law, system.robot
    if type(law) is FrictionCone or isinstance(law, Penalty):
        return
    names = [*itertools.repeat("the terrain", len(system.terrain.shapes)), *surface_names(robot)]
    stated = [
        f"a {type(shape).__name__} of {name}"
        for shape, name in zip(shapes_of(system), names, strict=True)
        if shape.stiffness is not None
    ]
    if stated or robot.stiffnesses:
        raise ContactError(
            f"the contact law {type(law).__name__} takes no stiffness of bodies, and "
            f"{stated[0] if stated else 'a pair of bodies'} has one; leave it out, or use the law "
            "FrictionCone (NMDP methods) or Penalty (pbd, pbfd)"
        )
