"""Run a bundled scenario from Python, change it, record it and read the recording back.

python examples/first_steps.py      # writes first_steps.npz
nmdp-pin view first_steps.npz       # shows it
"""

from nmdp_pin import Recording, Scenario, run


def main() -> None:
    """Simulate two seconds of Robosimian's jump on ice and on the floor."""
    for friction in (0.05, 0.7):
        scenario = Scenario.load(
            "robosimian-jump", overrides=["duration=2.0", f"terrain.shapes.0.friction={friction}"]
        )
        run(scenario, out="first_steps.npz", replace=True)

        recording = Recording.load("first_steps.npz")
        if recording.status[-1] != 0:
            print(f"a step failed at {recording.t[-1]:.3f} s")
        rise = recording.base_position[:, 2].max() - recording.base_position[0, 2]
        print(
            f"friction {friction:.2f}: the torso rose {rise:.3f} m in {recording.n - 1} steps, "
            f"largest contact force {recording.contact_forces[:, :, 2].max():.0f} N"
        )


if __name__ == "__main__":
    main()
