"""Contacts of two solids that overlap, beside their least overlap as coal finds it.

Random poses of pairs of solids, 1 and 10 mm deep, at the start of a run. Counted are poses whose
deepest contact is more than 1 % too shallow, or more than 1, 5 or 100 % too deep, and whose normal
is more than 5 degrees off where it is not that of an overlap as small.

    python benchmarks/overlaps.py [POSES] [KIND ...]
"""

import itertools
import sys

import coal
import numpy as np
import pinocchio as pin
import trimesh

from nmdp_pin import FrictionCone, Terrain
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.geometry.planes import (
    place_contacts,
    select_contacts,
    select_overlaps,
)
from nmdp_pin._robot import free_body
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Sphere

DEPTHS = 1e-3, 1e-2  # [m]
H = 0.01  # [s]
SAME = 2e-6  # [m] to which coal finds distances
TURNED = 5.0  # [degrees] between a normal and that of coal
AS_DEEP = 0.99  # of the largest depth

_HULL = trimesh.convex.convex_hull(np.random.default_rng(5).normal(size=(12, 3)))
_HULL.apply_translation(-_HULL.center_mass)
_HULL.apply_scale(0.1 / np.linalg.norm(_HULL.vertices, axis=1).max())
SOLIDS = {
    "box": Box(size=(0.1, 0.08, 0.06)),
    "sphere": Sphere(radius=0.05),
    "capsule": Capsule(radius=0.03, length=0.12),
    "cylinder": Cylinder(radius=0.05, length=0.08),
    "cone": Cone(radius=0.05, length=0.12),
    "ellipsoid": Ellipsoid(radii=(0.08, 0.05, 0.03)),
}
GROUNDS = {
    "box": Box(size=(0.2, 0.12, 0.08)),
    "sphere": Sphere(radius=0.09),
    "capsule": Capsule(radius=0.04, length=0.2),
    "cylinder": Cylinder(radius=0.06, length=0.14),
    "cone": Cone(radius=0.07, length=0.15),
    "ellipsoid": Ellipsoid(radii=(0.12, 0.09, 0.06)),
    "hull": Mesh(vertices=_HULL.vertices, faces=_HULL.faces),
}


def geometry_of(shape):
    """The solid for coal."""
    if isinstance(shape, Mesh):
        points = coal.StdVec_Vec3s()
        for x in shape.vertices:
            points.append(np.array(x))
        return coal.Convex.convexHull(points, False, "Qt")
    return shape.collision_geometry()


def overlap(a, M, b):
    """Least overlap of geometry a at M with b [m], and its direction from b to a."""
    result, request = coal.CollisionResult(), coal.CollisionRequest()
    request.security_margin, request.enable_contact = 1.0, True
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    coal.collide(
        b, coal.Transform3s(), a, coal.Transform3s(M.rotation, M.translation), request, result
    )
    found = result.getContact(0)
    return -found.penetration_depth, np.array(found.normal)


def along(a, M, b, n):
    """Overlap of a at M with b along a direction n [m]."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    low = coal.distance(
        coal.Halfspace(n, 0.0),
        coal.Transform3s(),
        a,
        coal.Transform3s(M.rotation, M.translation),
        request,
        result,
    )
    result = coal.DistanceResult()
    high = coal.distance(
        coal.Halfspace(-n, 0.0), coal.Transform3s(), b, coal.Transform3s(), request, result
    )
    return -high - low


class Pair:
    """A free solid on a ground of one shape."""

    def __init__(self, solid, ground):
        self.a, self.b = geometry_of(solid), geometry_of(ground)
        law = FrictionCone(stiffness=1e6)
        self.form = CompiledSystem(System(free_body("body", solid, mass=1.0), Terrain(ground), law))
        self.rows = self.form.n_contacts
        self.contacts, self.at = self.form.new_stage().contacts, self.form.new_point().places

    def pose(self, rng, depth):
        """A random one in which the solid overlaps by a depth; its least overlap."""
        while True:
            towards = rng.normal(size=3)
            R = pin.Quaternion(*rng.normal(size=4)).normalized().matrix()
            M = pin.SE3(R, 0.3 * towards / np.linalg.norm(towards))
            for _ in range(6):
                found, n = overlap(self.a, M, self.b)
                M.translation = M.translation + (found - depth) * n
            found, n = overlap(self.a, M, self.b)
            if abs(found - depth) < SAME and abs(along(self.a, M, self.b, n) - depth) < SAME:
                return M, n

    def touching(self, M):
        """Depths and normals of what touches where a run starts at M."""
        P, candidates = self._placements(M), self.form.candidates
        still = np.zeros((len(P), 6))
        select_contacts(candidates, P, still, H, candidates.rolling, self.contacts)
        select_overlaps(candidates, self.contacts, self.at, P)
        place_contacts(candidates, self.contacts, P, self.at)
        n = self.contacts.n[0]
        felt = np.flatnonzero(~self.at.on_internal_edge[:n] & (self.at.depth[:n] > 0.0))
        normals = self.at.normal[felt].copy()
        own = self.contacts.bodies[felt, 0] == 0
        normals[own] = -normals[own] @ M.rotation.T
        return self.at.depth[felt].copy(), normals

    def _placements(self, M):
        rows = [np.vstack([X.rotation.T, X.translation]) for X in (pin.SE3.Identity(), M)]
        return np.array([rows[0]] + [rows[1]] * (self.form.model.njoints - 1))


def figures(pair, depth, poses):
    """Counts of a pair; see the description of this file."""
    rng, found = np.random.default_rng(1), np.zeros(6, int)
    for _ in range(poses):
        M, n = pair.pose(rng, depth)
        depths, normals = pair.touching(M)
        most = depths.max(initial=0.0)
        deepest = normals[depths > AS_DEEP * most]
        # coal may miss the least overlap of round solids
        others = [along(pair.a, M, pair.b, d) for d in normals]
        least = min([depth, *others])
        own = others[depths.argmax()] if len(depths) else depth
        off = np.degrees(np.arccos(np.clip((deepest @ n).max(initial=-1.0), -1.0, 1.0)))
        turned = off > TURNED and own > least / AS_DEEP
        too_deep = [most > (1.0 + share) * least + SAME for share in (0.01, 0.05, 1.0)]
        found += np.array([1, most < AS_DEEP * least - SAME, *too_deep, turned], int)
    return found


def main():
    """Print the counts of pairs that have some, and of all."""
    poses = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    wanted = {*sys.argv[2:]}
    heads = "poses", "shallow", ">1 %", ">5 %", ">100 %", "turned"
    print(f"{'':30s}" + "".join(f"{head:>9s}" for head in heads) + "   rows")
    total = {}
    for (name, solid), (on, ground) in itertools.product(SOLIDS.items(), GROUNDS.items()):
        if wanted and not {name, on} <= wanted:
            continue
        pair = Pair(solid, ground)
        for depth in DEPTHS:
            found, key = figures(pair, depth, poses), f"{1e3 * depth:g} mm"
            total[key] = total.get(key, 0) + found
            if found[1:].any():
                what = f"{name} on {on}, {key}"
                print(f"{what:30s}" + "".join(f"{x:9d}" for x in found) + f"{pair.rows:7d}")
    for key, found in total.items():
        print(f"{'all, ' + key:30s}" + "".join(f"{x:9d}" for x in found))


if __name__ == "__main__":
    main()
