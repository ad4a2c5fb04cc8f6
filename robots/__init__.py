"""Bundled robots: data only, one folder a robot; read by `nmdp_pin._robot.load_robot`."""
