"""Steps of pbd and pbfd at trial points, for the tests of their kernels."""

import numpy as np
import pinocchio as pin

from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._kernels.geometry.planes import place_references
from nmdp_pin._kernels.step import position_step as kernels


class Step:
    """The residual of a step, its energy and its derivatives, at the last point evaluated."""

    def __init__(self, method, law, robot, ground, **options):
        self.method = INTEGRATORS[method](System(robot, ground, law), **options)
        self.robot, self.model, self.nv = robot, robot.model, robot.model.nv
        self.memory = self.method.memory
        self.scene, self.start = self.memory.scene, self.memory.start
        self.ref, self.point = self.memory.ref, self.memory.trial

    def begin(self, state, command, h):
        """State the step; all candidates are contacts."""
        self.method.state_step(state, command, h)
        assert kernels.begin(self.memory)
        place_references(self.ref.contacts, self.ref.P0)

    def evaluate(self, q):
        """The residual, shape (nv,)."""
        self.point.q[:] = q
        self.value, self.error = kernels.evaluate_step(self.memory)
        return self.point.r.copy()

    def linearise(self, *, exact=True):
        """dr/dq, or its positive semidefinite part."""
        kernels.linearise_step(self.memory, exact)
        return self.point.A.copy()

    def retract(self, q, dq):
        """The configuration at tangent dq from q."""
        return pin.integrate(self.model, q, dq)

    @property
    def depths(self):
        """Depths of the spheres in the shapes, negative where they are apart, shape (k,)."""
        return self.point.places.depth.copy()

    @property
    def wrenches(self):
        """Of the contact points, shape (n, 6)."""
        total = np.zeros((len(self.robot.contact_points), 6))
        np.add.at(total, self.scene.candidates.points, self.point.forces.wrenches)
        return total

    def contact_force(self):
        """The contacts' generalised force, by pinocchio's Jacobians, shape (nv,)."""
        data, points = self.model.createData(), self.robot.contact_points
        pin.computeJointJacobians(self.model, data, self.point.q)
        force = np.zeros(self.nv)
        for joint, local, wrench in zip(
            points.joints, points.positions, self.wrenches, strict=True
        ):
            M = data.oMi[int(joint)]
            J = pin.getJointJacobian(self.model, data, int(joint), pin.LOCAL_WORLD_ALIGNED)
            moment = wrench[3:] + np.cross(M.rotation @ local, wrench[:3])
            force += J[:3].T @ wrench[:3] + J[3:].T @ moment
        return force
