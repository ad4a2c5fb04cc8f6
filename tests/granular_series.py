"""The published Fourier series of resistive force theory."""

import numpy as np

from nmdp_pin._contact.granular.medium import Medium


def alpha(medium: Medium, beta, gamma):
    """alpha_x and alpha_z of plates in the plane of motion [N/m^3], the published series.

    gamma = pi/2 is straight down; a plate with beta > 0 faces forwards and down. Beyond
    [-pi/2, pi/2] the angles are folded back: alpha_x(-b, pi - g) = -alpha_x(b, g).
    """
    m, forwards = medium, np.where(np.cos(gamma) < 0.0, -1.0, 1.0)
    b, g = 2.0 * forwards * beta, np.arctan2(np.sin(gamma), np.abs(np.cos(gamma)))
    x = m.C11 * np.cos(b + g) + m.C01 * np.cos(g) + m.C_11 * np.cos(-b + g) + m.D10 * np.sin(b)
    z = m.A00 + m.A10 * np.cos(b) + m.B11 * np.sin(b + g)
    z += m.B01 * np.sin(g) + m.B_11 * np.sin(-b + g)
    return forwards * x * 1e6, z * 1e6
