"""The papers' own variants, made of the general parts: presets and halving as printed."""

from nmdp_pin.papers.halving import PrintedHalving
from nmdp_pin.papers.presets import PRESETS, preset_options

__all__ = ["PRESETS", "PrintedHalving", "preset_options"]
