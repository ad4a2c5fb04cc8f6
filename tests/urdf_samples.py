"""Small URDFs for the tests, right ones and wrong ones."""

from __future__ import annotations

from pathlib import Path

BODY = (
    '<inertial><mass value="{mass}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
    'ixy="0" ixz="0" iyz="0"/></inertial>'
)
ORIGIN = "0 0 0"


def link(name: str, *, mass: float = 1.0, shapes: str = "") -> str:
    """A link of 0.1 kg m2; no inertial at all if the mass is 0."""
    return f'<link name="{name}">{BODY.format(mass=mass) if mass else ""}{shapes}</link>'


def shape(kind: str, geometry: str, xyz: str = ORIGIN) -> str:
    """A `<visual>` or `<collision>` element."""
    return f'<{kind}><origin xyz="{xyz}"/><geometry>{geometry}</geometry></{kind}>'


def mesh(kind: str, filename: str) -> str:
    """A `<visual>` or `<collision>` element that is a mesh."""
    return shape(kind, f'<mesh filename="{filename}"/>')


def hinge(name: str, parent: str, child: str, *, kind: str = "revolute", xyz: str = ORIGIN) -> str:
    """A joint about y."""
    limit = '<limit lower="-1" upper="1" effort="10" velocity="5"/>'
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 1 0"/>{limit}</joint>'
    )


def robot(*parts: str) -> str:
    """A whole URDF."""
    return f'<robot name="sample">{"".join(parts)}</robot>'


def write(folder: Path, text: str | bytes, name: str = "sample.urdf") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# A body and a leg of 0.4 m with a foot of 0.05 m.
FOOT = shape("collision", '<sphere radius="0.05"/>', "0 0 -0.4")
HOPPER = robot(link("body"), link("leg", shapes=FOOT), hinge("hip", "body", "leg"))

# The corners of a pyramid with a square foot of 0.2 m, 0.3 m high, as an STL in text.
PYRAMID_CORNERS = ((0.1, 0.1, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0), (0.1, -0.1, 0), (0, 0, 0.3))
_FACES = ((0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 2, 1), (0, 3, 2))


def pyramid() -> str:
    """An STL file."""
    faces = []
    for face in _FACES:
        corners = "".join("vertex {} {} {}\n".format(*PYRAMID_CORNERS[k]) for k in face)
        faces.append(f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n")
    return f"solid pyramid\n{''.join(faces)}endsolid pyramid\n"
