"""Contact laws: wrench spaces, penalties, dry friction, and models of media and data."""

from nmdp_pin._contact import (
    AnisotropicCone,
    ContactLaw,
    ContactState,
    DryFriction,
    FiniteDifferences,
    FrictionCone,
    Mixed,
    Penalty,
    WrenchSpace,
    friction_coefficient_for,
    stiffness_for_static_depth,
)
from nmdp_pin._contact.fitted.fitted import Fitted
from nmdp_pin._contact.fitted.fitted_model import fitted_model
from nmdp_pin._contact.fitted.hull_vertices import HullFit, HullVertices, fit_hulls
from nmdp_pin._contact.fitted.vertex_map import FunctionVertices, OnnxVertices, VertexMap
from nmdp_pin._contact.fitted.wrench_samples import WrenchSamples
from nmdp_pin._contact.granular.granular import Granular
from nmdp_pin._contact.granular.intruder import INTRUDERS, Intruder, Plate, Rod, Sphere
from nmdp_pin._contact.granular.medium import MEDIA, Medium
from nmdp_pin._contact.planar_sliding.limit_surface import LimitSurface
from nmdp_pin._contact.planar_sliding.limit_surface_fit import LimitSurfaceFit, fit_limit_surface
from nmdp_pin._contact.planar_sliding.planar_sliding import PlanarSliding
from nmdp_pin._contact.planar_sliding.sliding_samples import SlidingSamples

__all__ = [
    "INTRUDERS",
    "MEDIA",
    "AnisotropicCone",
    "ContactLaw",
    "ContactState",
    "DryFriction",
    "FiniteDifferences",
    "Fitted",
    "FrictionCone",
    "FunctionVertices",
    "Granular",
    "HullFit",
    "HullVertices",
    "Intruder",
    "LimitSurface",
    "LimitSurfaceFit",
    "Medium",
    "Mixed",
    "OnnxVertices",
    "Penalty",
    "PlanarSliding",
    "Plate",
    "Rod",
    "SlidingSamples",
    "Sphere",
    "VertexMap",
    "WrenchSamples",
    "WrenchSpace",
    "fit_hulls",
    "fit_limit_surface",
    "fitted_model",
    "friction_coefficient_for",
    "stiffness_for_static_depth",
]
