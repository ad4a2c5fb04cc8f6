"""Chains of any number of links, for costs over the number of freedoms."""

from __future__ import annotations

import functools
from pathlib import Path
from xml.etree import ElementTree

from nmdp_pin._files.output_file import write_text
from nmdp_pin._robot import load_robot
from nmdp_pin.errors import ExperimentError

_SCENARIO = """# A chain of {links} rods swings from level, held at one end; it touches nothing.
duration = 1.0

[robot]
urdf = "chain-{links}.urdf"
base = "fixed"
contacts = []

[terrain]
shapes = [{{ kind = "plane", height = -{depth:g} }}]

[contact]
model = "friction-cone"
stiffness = 1e6
power = 2

[integrator]
name = "ne-nmdp"
"""


@functools.cache
def chain_urdf(links: int) -> str:
    """URDF of a chain like the bundled one, of so many links.

    Raises:
        ExperimentError: no link at all.
    """
    if links < 1:
        raise ExperimentError(f"a chain needs at least 1 link, got {links}")
    robot = ElementTree.parse(load_robot("chain", visuals=False).source).getroot()
    link, first, hinge = (_find(robot, path) for path in _TEMPLATES)
    for element in [*robot.findall("link"), *robot.findall("joint")]:
        if element.get("name") != "ball":
            robot.remove(element)
    for k in range(1, links + 1):
        robot.append(_copy(link, {"name": f"link{k}"}))
        joint = _copy(first if k == 1 else hinge, {"name": f"joint{k}"})
        _find(joint, "parent").set("link", f"link{k - 1}" if k > 1 else "ball")
        _find(joint, "child").set("link", f"link{k}")
        robot.append(joint)
    return ElementTree.tostring(robot, encoding="unicode")


_TEMPLATES = ("link[@name='link2']", "joint[@name='joint1']", "joint[@name='joint2']")


def write_chain(folder: Path, links: int) -> Path:
    """Write the robot and a scenario in which it swings.

    Returns:
        The path of the scenario.

    Raises:
        ExperimentError: no link at all, or a folder that cannot be made.
        RecordingError: a file that cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExperimentError(
            f"cannot make the folder '{folder}' of the chains: {error.strerror or error}"
        ) from error
    write_text(folder / f"chain-{links}.urdf", chain_urdf(links))
    path = folder / f"chain-{links}.toml"
    # Out of the reach of rods of 0.1 m each.
    write_text(path, _SCENARIO.format(links=links, depth=0.2 * links))
    return path


def _find(element: ElementTree.Element, path: str) -> ElementTree.Element:
    found = element.find(path)
    if found is None:
        raise ExperimentError(f"the bundled chain has no '{path}'")
    return found


def _copy(element: ElementTree.Element, attributes: dict[str, str]) -> ElementTree.Element:
    result = ElementTree.fromstring(ElementTree.tostring(element))
    result.attrib.update(attributes)
    return result
