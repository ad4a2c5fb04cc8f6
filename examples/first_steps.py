"""Run a bundled scenario from Python, change it, record it and read the recording back.

python examples/first_steps.py      # writes first_steps.npz
nmdp-pin view first_steps.npz       # shows it
"""

import time

from nmdp_pin import Recorder, Recording, Scenario


def main() -> None:
    """Simulate two seconds of Robosimian's jump on ice and on the floor."""
    for friction in (0.05, 0.7):
        scenario = Scenario.load(
            "robosimian-jump",
            overrides=["duration=2.0", f"terrain.shapes.0.friction={friction}"],
        )
        setup = scenario.build(visuals=False)
        recorder = Recorder(setup.robot, setup.state, {"scenario": scenario.resolved()})
        results = setup.simulator.run(
            setup.state, setup.controller, dt=scenario.integrator.dt, duration=scenario.duration
        )
        start = time.perf_counter()
        for result in results:
            if not result.status.ok:
                print(f"failed at {result.state.t:.3f} s: {result.status.value}")
            recorder.record(result, time.perf_counter() - start)
            start = time.perf_counter()
        recorder.save("first_steps.npz")

        recording = Recording.load("first_steps.npz")
        rise = recording.base_position[:, 2].max() - recording.base_position[0, 2]
        print(
            f"friction {friction:.2f}: the torso rose {rise:.3f} m in {recording.n - 1} steps, "
            f"largest contact force {recording.contact_force[:, :, 2].max():.0f} N"
        )


if __name__ == "__main__":
    main()
