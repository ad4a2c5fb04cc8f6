"""The contract of contact models, which users have as well."""

from nmdp_pin.testing import WrenchSpaceContract

__all__ = ["WrenchSpaceContract"]
