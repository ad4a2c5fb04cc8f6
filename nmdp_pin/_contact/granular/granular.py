"""Contact with granular media, after Zhu, Abdulmajeid and Hauser (ICRA 2019), from RFT."""

import functools
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from nmdp_pin._contact.friction_cone import frame_derivative, tangent_frames
from nmdp_pin._contact.granular.intruder import Intruder, Plate, Rod, Sphere
from nmdp_pin._contact.granular.medium import MEDIA
from nmdp_pin._contact.granular.table import WrenchTable, wrench_table
from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin._options import Count, Positive, Vector3, check_fields, readable
from nmdp_pin._robot import Robot
from nmdp_pin.errors import ContactError


@readable
@dataclass(frozen=True, kw_only=True)
class Granular(WrenchSpace):
    """Foot in sand: each vertex is the wrench of resistive force theory for one motion.

    Vertices depend on the depth and on the axis of the foot; the friction of the terrain is not
    used. See docs/granular.md.

    Args:
        intruder: shape of the foot: `Rod`, `Sphere` or `Plate`.
        medium: "generic", "poppy-seeds-loose" or "poppy-seeds-close".
        scale: zeta, factor of all stresses [-].
        axis: direction of the foot, out of the robot, in the frame of its joint.
        azimuths: even number of horizontal directions; there are 4 azimuths + 4 vertices.

    Raises:
        ContactError: a parameter is out of range.
    """

    rows: ClassVar[int] = 6

    intruder: Intruder
    medium: Literal["generic", "poppy-seeds-loose", "poppy-seeds-close"] = "generic"
    scale: Positive = 1.0
    axis: Vector3 = (0.0, 0.0, -1.0)
    azimuths: Annotated[Count, Field(ge=4, le=16)] = 6
    table: WrenchTable = field(init=False, repr=False, compare=False)
    _up: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self, ContactError)
        if not isinstance(self.intruder, Intruder):
            raise ContactError(
                f"intruder must be a Rod, Sphere or Plate of nmdp_pin.contact, "
                f"got {self.intruder!r}"
            )
        axis = np.array(self.axis)
        if not any(self.axis):
            raise ContactError("axis must not be zero")
        if self.azimuths % 2:
            raise ContactError(f"azimuths must be even, got {self.azimuths}")
        table = wrench_table(self.intruder, MEDIA[self.medium], self.azimuths)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "_up", -axis / np.linalg.norm(axis))

    @classmethod
    def for_robot(
        cls,
        robot: Robot,
        *,
        intruder: Literal["rod", "sphere", "plate"] = "rod",
        radius: Positive | None = None,
        length: Positive | None = None,
        **options: Any,
    ) -> "Granular":
        """Contact model of a robot's feet.

        Args:
            robot: robot with the feet.
            intruder: shape of the foot.
            radius: radius [m]; None: that of the contact spheres; required for rods and plates.
            length: length of a rod from its flat end [m]; required for rods.
            options: other arguments of the class.

        Raises:
            ContactError: a size is missing or does not fit the shape, or contact spheres differ.
        """
        if (length is None) == (intruder == "rod"):
            raise ContactError(f"'length' is needed for a rod only, here is a {intruder}")
        if radius is None and intruder != "sphere":
            raise ContactError(f"'radius' is needed for a {intruder}")
        radii = set(robot.contact_points.radii.tolist()) if radius is None else {radius}
        if len(radii) != 1:
            raise ContactError(
                f"give 'radius': the robot's contact spheres have different ones, {sorted(radii)} m"
            )
        sizes = {"radius": min(radii)} | ({} if length is None else {"length": length})
        shapes: dict[str, Any] = {"rod": Rod, "sphere": Sphere, "plate": Plate}
        return cls(intruder=shapes[intruder](**sizes), **options)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle the parameters; the table is made again."""
        names = ("intruder", "medium", "scale", "axis", "azimuths")
        options = {name: getattr(self, name) for name in names}
        return functools.partial(Granular, **options), ()

    @property
    def n_vertices(self) -> int:
        """Number of sampled motions."""
        return len(self.table.twists)

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the class; shape (n, 6, n_vertices)."""
        frame = tangent_frames(contacts.normal)
        V = self.scale * self.table.vertices(contacts.depth, self._axes(contacts, frame))
        n = len(V)
        turned: np.ndarray = frame[:, None] @ V.reshape(n, 2, 3, self.n_vertices)
        return turned.reshape(n, 6, self.n_vertices)

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """d(V w)/dx, shape (n, 6, 6), of R f(d, R' a) with dd/dx = -n' and da = phi x a."""
        n = len(contacts.depth)
        frame = tangent_frames(contacts.normal)
        axis = self._axes(contacts, frame)
        by_depth, by_axis = self.table.derivative(contacts.depth, axis, self.scale * w)
        out = frame[:, None]
        by_depth = (out @ by_depth.reshape(n, 2, 3, 1)).reshape(n, 6, 1)
        by_axis = (out @ by_axis.reshape(n, 2, 3, 3)).reshape(n, 6, 3)
        to_frame = frame.transpose(0, 2, 1)
        result = np.empty((n, 6, 6))
        result[:, :, :3] = -by_depth * contacts.normal[:, None, :]
        result[:, :, 3:] = np.cross((frame @ axis[:, :, None])[:, None, :, 0], by_axis @ to_frame)
        if contacts.curvature is not None:
            # the frame turns with the normal, the axis in it the other way
            back = to_frame @ frame_derivative(contacts.normal, axis)
            local = (to_frame[:, None] @ wrench.reshape(n, 2, 3, 1))[..., 0]
            turn = [frame_derivative(contacts.normal, local[:, i]) for i in (0, 1)]
            change = np.concatenate(turn, axis=1) - by_axis @ back
            result[:, :, :3] += change @ contacts.curvature
        return result

    def _axes(self, contacts: ContactState, frame: np.ndarray) -> np.ndarray:
        """Axes from the feet up, in the frames of the normals, shape (n, 3)."""
        up = contacts.rotation @ self._up
        axes: np.ndarray = (frame.transpose(0, 2, 1) @ up[:, :, None])[:, :, 0]
        return axes
