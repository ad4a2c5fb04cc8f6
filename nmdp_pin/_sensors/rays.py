"""Distance sensors: rays to the terrain and to bodies."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import coal
import numpy as np
from pydantic import Field

from nmdp_pin._options import Flag, Positive, Vector3
from nmdp_pin._robot import Robot
from nmdp_pin._sensors.instant import Instant
from nmdp_pin._sensors.sensor import Sensor
from nmdp_pin.errors import SensorError

_CLOSE = 1e-6  # [m] from a surface, where a ray ends
_PROBES = 200  # of the distance along a ray; grazing rays that need more end a little too early
_POINT = coal.Sphere(1e-12)


@dataclass(frozen=True)
class Rays(Sensor):
    """Distances along rays to the terrain and to other bodies [m], shape (n,).

    Rays begin at the origin of a frame and pass through the body that carries it. Bodies are those
    of the collision geometry.

    Args:
        directions: directions in the frame, of any length > 0, (n, 3).
        frame: link or frame; None: the base link.
        longest: what is measured where nothing is nearer [m].
        bodies: whether rays end at bodies, too.
    """

    directions: Annotated[tuple[Vector3, ...], Field(min_length=1)]
    frame: str | None = None
    longest: Positive = 10.0
    bodies: Flag = True

    kind: ClassVar[str] = "rays"

    def shape(self, robot: Robot) -> tuple[int, ...]:
        """See `Sensor.shape`."""
        self.frame_index(robot, self.frame)
        if not np.any(self.directions, axis=1).all():
            raise SensorError(f"sensor '{self.key}': a direction must not be (0, 0, 0)")
        if self.bodies:
            robot.require_collisions()
        return (len(self.directions),)

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        index = self.frame_index(at.robot, self.frame)
        place, rays = at.data.oMf[index], np.array(self.directions)
        rays = rays @ place.rotation.T / np.linalg.norm(rays, axis=1, keepdims=True)
        reached = self._to_terrain(at, place.translation, rays)
        if self.bodies:
            carrier = int(at.robot.model.frames[index].parentJoint)
            self._shorten_to_bodies(at, carrier, place.translation, rays, reached)
        return reached

    def _to_terrain(self, at: Instant, origin: np.ndarray, rays: np.ndarray) -> np.ndarray:
        """Distances to the terrain, by steps of its distance, which nothing can be nearer than."""
        reached = np.full(len(rays), self.longest)
        if at.terrain is None:
            return reached
        going, reached = np.arange(len(rays)), np.zeros(len(rays))
        for _ in range(_PROBES):
            points = origin + reached[going, None] * rays[going]
            gaps = np.maximum(at.terrain.query(points).distance, 0.0)
            reached[going] = np.minimum(reached[going] + gaps, self.longest)
            going = going[(gaps > _CLOSE) & (reached[going] < self.longest)]
            if not len(going):
                break
        return reached

    def _shorten_to_bodies(
        self, at: Instant, carrier: int, origin: np.ndarray, rays: np.ndarray, reached: np.ndarray
    ) -> None:
        """Shorten the rays that meet a body, other than that of the joint `carrier`."""
        for item in at.robot.require_collisions().geometryObjects:
            if int(item.parentJoint) == carrier:
                continue
            shape, place = item.geometry, at.data.oMi[item.parentJoint] * item.placement
            shape.computeLocalAABB()
            to_middle = place.act(shape.aabb_center) - origin
            along = rays @ to_middle
            across = np.linalg.norm(to_middle - along[:, None] * rays, axis=1)
            half = np.sqrt(np.maximum(shape.aabb_radius**2 - across**2, 0.0))
            near = (across < shape.aabb_radius) & (along + half > 0.0) & (along - half < reached)
            where = coal.Transform3s(place.rotation, place.translation)
            for k in np.flatnonzero(near):
                start, end = max(along[k] - half[k], 0.0), min(along[k] + half[k], reached[k])
                reached[k] = _meet(shape, where, origin, rays[k], start, end, reached[k])


def _meet(
    shape: coal.CollisionGeometry,
    where: coal.Transform3s,
    origin: np.ndarray,
    ray: np.ndarray,
    start: float,
    end: float,
    beyond: float,
) -> float:
    """Distance at which a ray meets a shape between two distances; else that beyond [m]."""
    for _ in range(_PROBES):
        if start >= end:
            return beyond
        point = coal.Transform3s(np.eye(3), origin + start * ray)
        gap = coal.distance(
            _POINT, point, shape, where, coal.DistanceRequest(), coal.DistanceResult()
        )
        if gap < _CLOSE:
            return start
        start += gap
    return start
