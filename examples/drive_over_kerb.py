"""A rover drives over a kerb of 3 cm; servos hold the speed of its wheels."""

from nmdp_pin import FrictionCone, Plane, Simulator, State, Terrain, load_robot
from nmdp_pin.control import VelocityServo
from nmdp_pin.terrain import Box

KERB, EDGE = 0.03, 0.6  # [m] height, and x of its edge
SPEED, RADIUS = 0.6, 0.1  # [m/s], [m] of the wheels


def drive() -> tuple[State, State]:
    """The first and the last state of three seconds."""
    robot = load_robot("rover")
    kerb = Box(size=(4.0, 2.0, KERB), position=(EDGE + 2.0, 0.0, KERB / 2.0), friction=0.9)
    ground = Terrain([Plane(friction=0.9), kerb])
    simulator = Simulator(robot, ground, FrictionCone.for_robot(robot, static_depth=1e-3))
    wheels = {name: SPEED / RADIUS for name in robot.model.names if name.endswith("_axle")}
    servo, start = VelocityServo(robot, kd=5.0, velocity=wheels), simulator.state()
    *_, result = simulator.run(start, servo, dt=0.01, duration=3.0)
    return start, result.state


if __name__ == "__main__":
    start, end = drive()
    print(f"driven {end.q[0] - start.q[0]:.2f} m, raised by {end.q[2] - start.q[2]:.3f} m")
