"""Robots whose joints have stops, dry friction, weak motors and mimics."""

from __future__ import annotations

from pathlib import Path

from urdf_samples import robot, write

from nmdp_pin._robot import Robot, load_robot

MASS, LENGTH, INERTIA = 1.0, 1.0, 0.01  # of a pendulum, about its centre
ABOUT_HINGE = MASS * LENGTH**2 + INERTIA

# Springs of a slide, a ball, a hinge and a free body.
BALLS = """<mujoco><option gravity="0 0 -9.81" integrator="implicit"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<body pos="0 0 1"><joint name="slide" type="slide" axis="1 0 1" stiffness="200" springref="0.1"/>
<geom type="box" size="0.1 0.05 0.05" mass="1"/>
<body pos="0.1 0 0"><joint name="ball" type="ball" stiffness="20"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0 0.3 0" mass="0.5"/>
<body pos="0 0.3 0"><joint name="hinge" axis="0 0 1" stiffness="5" springref="60" ref="20"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.4"/></body></body></body>
<body pos="2 0 1" quat="1 1 0 0"><joint name="float" type="free" stiffness="8"/>
<geom type="box" size="0.1 0.2 0.05" mass="1"/></body></worldbody>
<keyframe><key qpos="0.05 1 0.5 0 0.3 0.4 2 0.3 1.1 1 0 0 0.4"/></keyframe></mujoco>"""


def body(name: str, mass: float, inertia: float, centre: str = "0 0 0", shapes: str = "") -> str:
    """A link with the same inertia about all axes."""
    moments = " ".join(f'i{a}{a}="{inertia}"' for a in "xyz")
    return (
        f'<link name="{name}"><inertial><origin xyz="{centre}"/><mass value="{mass}"/>'
        f'<inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial>{shapes}</link>'
    )


def joint(
    name: str,
    parent: str,
    child: str,
    *,
    kind: str = "revolute",
    origin: str = "0 0 0",
    axis: str = "0 1 0",
    limit: tuple[float, float] = (-10.0, 10.0),
    effort: float = 0.0,
    friction: float = 0.0,
    more: str = "",
) -> str:
    """A joint; effort 0: no limit."""
    lower, upper = limit
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}"/><axis xyz="{axis}"/><limit lower="{lower}" upper="{upper}" '
        f'effort="{effort}" velocity="100"/><dynamics friction="{friction}"/>{more}</joint>'
    )


def pendulum(folder: Path, **options: object) -> Robot:
    """A weight on a massless rod of 1 m that hangs from a hinge about y."""
    hinge = joint("hip", "base", "rod", origin="0 0 2", **options)  # type: ignore[arg-type]
    rod = body("rod", MASS, INERTIA, f"0 0 {-LENGTH}")
    text = robot('<link name="base"/>', rod, hinge)
    return load_robot(write(folder, text, "pendulum.urdf"), base="fixed", contacts=[])


def two_links(folder: Path, base: str) -> Robot:
    """A body with two links, one on the other, about different axes; a sphere touches the ground.

    The first joint rubs; both have stops at 0.5 rad and motors of 3 and 2 N m.
    """
    sphere = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
    parts = [
        body(name, 1.0, 0.02, "0 0.1 -0.5", sphere * (name == "trunk"))
        for name in ("trunk", "arm", "fore")
    ]
    hip = joint(
        "hip", "trunk", "arm", origin="0 0 -0.2", limit=(-0.5, 0.5), effort=3.0, friction=1.0
    )
    knee = joint(
        "knee", "arm", "fore", origin="0 0 -1", axis="1 0 0", limit=(-0.5, 0.5), effort=2.0
    )
    return load_robot(write(folder, robot(*parts, hip, knee), "links.urdf"), base=base)


def gripper(folder: Path) -> Robot:
    """A hand on a vertical slide with two fingers, of which the right one copies the left one.

    The fingers close towards each other; they are 2 cm spheres.
    """
    sphere = '<collision><geometry><sphere radius="0.02"/></geometry></collision>'
    parts = [
        '<link name="base"/>',
        body("hand", 0.5, 1e-3),
        body("left", 0.05, 1e-5, shapes=sphere),
        body("right", 0.05, 1e-5, shapes=sphere),
        joint(
            "lift",
            "base",
            "hand",
            kind="prismatic",
            origin="0 0 1",
            axis="0 0 1",
            limit=(-1.0, 1.0),
        ),
        joint(
            "left",
            "hand",
            "left",
            kind="prismatic",
            origin="0 0.1 0",
            axis="0 -1 0",
            limit=(0.0, 0.1),
            effort=20.0,
        ),
        joint(
            "right",
            "hand",
            "right",
            kind="prismatic",
            origin="0 -0.1 0",
            axis="0 1 0",
            limit=(0.0, 0.1),
            effort=20.0,
            more='<mimic joint="left"/>',
        ),
    ]
    return load_robot(write(folder, robot(*parts), "gripper.urdf"), base="fixed")
