"""Bundled robots: data only, one folder a robot; read by `nmdp_pin.robot.load_robot`."""
