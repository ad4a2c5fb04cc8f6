"""Planar sliding: patches within a convex limit surface, and how it is fitted."""

from nmdp_pin._contact.planar_sliding.limit_surface import LimitSurface
from nmdp_pin._contact.planar_sliding.limit_surface_fit import LimitSurfaceFit, fit_limit_surface
from nmdp_pin._contact.planar_sliding.planar_sliding import PlanarSliding
from nmdp_pin._contact.planar_sliding.sliding_samples import SlidingSamples
