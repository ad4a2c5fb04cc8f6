"""Stress of granular media on small plates: resistive force theory (RFT).

Li, Zhang, Goldman, "A terradynamics of legged locomotion on granular media", Science 339 (2013).
The coefficients are theirs (arXiv 1303.7065).
"""

from dataclasses import dataclass

import numpy as np

_PER_CUBIC_METRE = 1e6  # N/cm^3 to N/m^3


@dataclass(frozen=True, kw_only=True)
class Medium:
    """Fourier coefficients of the stress per depth [N/cm^3], first order in both angles.

    A plate of tilt beta that moves along gamma feels alpha_z upwards and alpha_x against its
    horizontal motion, per depth and area (both angles in [-pi/2, pi/2]):

        alpha_z = A00 + A10 cos 2b + B11 sin(2b + g) + B01 sin g + B_11 sin(-2b + g)
        alpha_x = C11 cos(2b + g) + C01 cos g + C_11 cos(-2b + g) + D10 sin 2b

    Args:
        A00: mean of alpha_z.
        A10: alpha_z, cos 2 beta.
        B11: alpha_z, sin(2 beta + gamma).
        B01: alpha_z, sin gamma.
        B_11: alpha_z, sin(-2 beta + gamma).
        C11: alpha_x, cos(2 beta + gamma).
        C01: alpha_x, cos gamma.
        C_11: alpha_x, cos(-2 beta + gamma).
        D10: alpha_x, sin 2 beta.
    """

    A00: float
    A10: float
    B11: float
    B01: float
    B_11: float
    C11: float
    C01: float
    C_11: float
    D10: float

    def stress(self, normal: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Stress per depth on plates anywhere in space [N/m^3], shape (..., 3).

        In the plane of motion it is that series. Elsewhere the plate counts as its part in that
        plane: its normal loses (N . l) l with l = e_z x u, and it counts with the length that is
        left. So a plate that moves edge-on feels nothing, and one that moves straight down all of
        it. The Fourier series is a polynomial of N and u, without angles: it is even in N, and
        nothing special happens where the motion is vertical.

        Args:
            normal: unit normals N, either side, shape (..., 3); z is up.
            direction: unit directions of motion u, shape (..., 3).
        """
        ux, uy, uz = np.moveaxis(direction, -1, 0)
        across = normal[..., 1] * ux - normal[..., 0] * uy  # N . l
        Nx, Ny = normal[..., 0] + across * uy, normal[..., 1] - across * ux
        Nz = normal[..., 2]
        length = np.sqrt(Nx * Nx + Ny * Ny + Nz * Nz)
        scale = 1.0 / np.maximum(length * length, 1e-12)  # an edge-on plate has length 0
        cos = 2.0 * Nz * Nz * scale - 1.0  # cos 2 beta
        sin_h = -2.0 * Nz * scale * np.array([Nx, Ny])  # sin 2 beta, along the plate's slope
        drag = (self.C11 + self.C_11) * cos + self.C01
        slope = self.D10 + (self.C11 - self.C_11) * uz
        fx, fy = -drag * ux - slope * sin_h[0], -drag * uy - slope * sin_h[1]
        fz = self.A00 + self.A10 * cos - (self.B01 + (self.B11 + self.B_11) * cos) * uz
        fz += (self.B11 - self.B_11) * (sin_h[0] * ux + sin_h[1] * uy)
        result: np.ndarray = _PER_CUBIC_METRE * length[..., None] * np.stack([fx, fy, fz], axis=-1)
        return result


_COEFFICIENTS = ("A00", "A10", "B11", "B01", "B_11", "C11", "C01", "C_11", "D10")
_TABLE = {
    "generic": (0.206, 0.169, 0.212, 0.358, 0.055, -0.124, 0.253, 0.007, 0.088),
    "poppy-seeds-loose": (0.051, 0.047, 0.053, 0.083, 0.020, -0.026, 0.057, 0.000, 0.025),
    "poppy-seeds-close": (0.094, 0.092, 0.092, 0.151, 0.035, -0.039, 0.086, 0.018, 0.046),
}
MEDIA = {
    name: Medium(**dict(zip(_COEFFICIENTS, values, strict=True))) for name, values in _TABLE.items()
}
"""Media by name; "generic" has alpha_z = 1 N/cm^3 for a flat plate pressed straight down."""
