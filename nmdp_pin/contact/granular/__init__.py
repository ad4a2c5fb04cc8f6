"""Granular media: wrench spaces from resistive force theory."""

from nmdp_pin.contact.granular.granular import Granular
from nmdp_pin.contact.granular.intruder import INTRUDERS, Intruder, Plate, Rod, Sphere
from nmdp_pin.contact.granular.medium import MEDIA, Medium

__all__ = ["INTRUDERS", "MEDIA", "Granular", "Intruder", "Medium", "Plate", "Rod", "Sphere"]
