"""SRDF files: postures, rotors, joints without a motor, pairs of bodies that never touch."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin

from nmdp_pin._files.input_file import read_xml
from nmdp_pin._robot.joint_limits import named_joints
from nmdp_pin._robot.model import append_model
from nmdp_pin._words import one_line
from nmdp_pin.errors import RobotError

_LARGEST = 5_000_000  # [bytes]; the largest of example-robot-data has 0.05 MB
_ROOT = "root_joint"  # the name that SRDF files have for a floating base


class Srdf:
    """The SRDF of a robot, which pinocchio reads.

    Args:
        path: path of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._root = str(path), read_xml(path, "SRDF", largest=_LARGEST)

    def strangers(self, posture: str, model: pin.Model) -> list[str]:
        """Names of the joints that it speaks of and the model has not."""
        parts = (f"group_state[@name='{posture}']/joint", "rotor_params/joint", "passive_joint")
        named = [joint.get("name", "") for part in parts for joint in self._root.iterfind(part)]
        known = (*model.names, _ROOT)
        return [name for name in dict.fromkeys(named) if name not in known]

    @property
    def passive(self) -> set[str]:
        """Names of the joints without a motor."""
        return {joint.get("name", "") for joint in self._root.iterfind("passive_joint")}

    def posture(
        self, name: str, model: pin.Model, *, free: bool
    ) -> tuple[dict[str, float | np.ndarray], pin.SE3 | None]:
        """Positions of the joints in a posture by name, and the placement of a floating base.

        The model is without the base.
        """
        posed = pin.Model(model)
        if free:
            holder = pin.Model()
            joint = holder.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), _ROOT)
            carrier = holder.addJointFrame(joint)
            posed, _ = append_model(holder, posed, (), carrier, pin.SE3.Identity())
        self._read(pin.loadReferenceConfigurations, posed)
        if name not in posed.referenceConfigurations:
            return {}, None
        q = pin.normalize(posed, posed.referenceConfigurations[name])
        found = {
            name: q[joint.idx_q : joint.idx_q + joint.nq].copy()
            for name, joint in named_joints(posed)
            if model.existJointName(name)
        }
        return found, pin.XYZQUATToSE3(q[:7]) if free else None

    def add_rotors(self, model: pin.Model) -> None:
        """Add the inertias of rotors times their gear ratios squared, in place."""
        if self._root.find("rotor_params") is not None:
            self._read(pin.loadRotorParameters, model)

    def _read(self, function: Callable[..., None], model: pin.Model) -> None:
        """Let pinocchio read the file into a model."""
        try:
            function(model, self._path, False)
        except (ValueError, RuntimeError) as error:
            raise RobotError(
                f"pinocchio cannot read it: {one_line(error)}", file=self._path
            ) from error

    @property
    def apart(self) -> frozenset[frozenset[str]]:
        """Pairs of links between which collisions are disabled."""
        pairs = self._root.iterfind("disable_collisions")
        return frozenset(frozenset({p.get("link1", ""), p.get("link2", "")}) for p in pairs)
