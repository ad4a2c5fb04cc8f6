"""A robot of your own: write a URDF, look at the report, let it stand and rock.

python examples/own_robot.py
"""

import tempfile
from pathlib import Path

import numpy as np

from nmdp_pin import FrictionCone, Plane, Simulator, StablePD, Terrain, check_robot, load_robot
from nmdp_pin.contact import stiffness_for_static_depth

LEG = """
  <link name="{name}_leg">
    <inertial>
      <origin xyz="0 0 -0.1"/>
      <mass value="0.5"/>
      <inertia ixx="0.0017" iyy="0.0017" izz="0.0001" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision>
      <origin xyz="0 0 -0.2"/>
      <geometry><sphere radius="0.02"/></geometry>
    </collision>
  </link>
  <joint name="{name}_hip" type="revolute">
    <parent link="body"/> <child link="{name}_leg"/>
    <origin xyz="{x} 0 0"/> <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="50" velocity="10"/>
  </joint>"""

URDF = f"""<robot name="rocker">
  <link name="body">
    <inertial>
      <mass value="3.0"/>
      <inertia ixx="0.013" iyy="0.043" izz="0.05" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  {LEG.format(name="front", x=0.15)}
  {LEG.format(name="rear", x=-0.15)}
</robot>"""


def main() -> None:
    """Check the URDF, then swing both legs by 0.2 rad once a second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rocker.urdf"
        path.write_text(URDF, encoding="utf-8")
        print(check_robot(path, base="planar"))
        robot = load_robot(path, base="planar")  # x, z and pitch; feet found from the spheres

    def rock(t: float) -> tuple[np.ndarray, np.ndarray]:
        """Targets (nq,) and their rates (nv,) at time t."""
        q, v = robot.standing.copy(), np.zeros(robot.model.nv)
        q[robot.driven] = 0.2 * np.sin(2.0 * np.pi * t)
        v[robot.driven] = 0.2 * 2.0 * np.pi * np.cos(2.0 * np.pi * t)
        return q, v

    ground = Terrain([Plane(friction=0.8)])  # a bare URDF starts with its feet on z = 0
    stiffness = stiffness_for_static_depth(mass=4.0, n_feet=2, static_depth=0.002, power=2)
    simulator = Simulator(robot, ground, FrictionCone(stiffness=stiffness, power=2))
    controller = StablePD(robot, kp=200.0, kd=2.0, gait=rock)
    forces, start = [], simulator.state()
    for result in simulator.run(start, controller, dt=0.01, duration=2.0, on_failure="raise"):
        forces.append(result.contact_forces[:, 2].sum())
    x, z, pitch = result.state.q[:3]
    print(f"after {result.state.t:.1f} s: x {x:+.3f} m, z {z:+.4f} m, pitch {pitch:+.4f} rad")
    print(f"mean load on the feet {np.mean(forces):.2f} N, weight {4.0 * 9.81:.2f} N")


if __name__ == "__main__":
    main()
