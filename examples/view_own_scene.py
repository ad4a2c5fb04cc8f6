"""A scene of one's own, an MJCF file, is simulated, recorded, and written as a page.

python examples/view_own_scene.py           # writes scene.html; `nmdp-pin view scene.npz` as well
"""

from pathlib import Path

from nmdp_pin import FrictionCone, Recorder, Recording, Simulator, load_scene
from nmdp_pin.viz.replay import Replay

SCENE = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/>
  <geom name="table" type="box" size="0.3 0.3 0.02" pos="0 0 0.5" friction="0.4"/>
  <body name="can" pos="0 0 0.7"><freejoint/>
    <geom type="cylinder" size="0.03 0.05" mass="0.3"/></body>
</worldbody></mujoco>"""


def record() -> Recording:
    """A can falls on a table; a page and a recording are left."""
    Path("scene.xml").write_text(SCENE, encoding="utf-8")
    robot, terrain = load_scene("scene.xml")
    simulator = Simulator(robot, terrain, FrictionCone(stiffness=1e7, power=2))
    recorder = Recorder(robot, simulator.state(), terrain=terrain)
    for result in simulator.run(simulator.state(), None, dt=0.01, duration=1.0):
        recorder.record(result)
    recorder.save("scene.npz")
    recording = recorder.recording()
    Replay(recording, robot, terrain).write_html("scene.html")
    return recording


if __name__ == "__main__":
    z = record().base_position[-1, 2]
    print(f"the can stands at z = {z:.3f} m: see scene.html")
