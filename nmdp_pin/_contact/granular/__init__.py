"""Granular media: wrench spaces from resistive force theory."""

from nmdp_pin._contact.granular.granular import Granular
from nmdp_pin._contact.granular.intruder import INTRUDERS, Intruder, Plate, Rod, Sphere
from nmdp_pin._contact.granular.medium import MEDIA, Medium
