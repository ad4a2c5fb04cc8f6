"""Trees of joints and contacts as the arrays that kernels take, made by pinocchio."""

import numpy as np
import pinocchio as pin

STEP = 1e-6  # [rad, m] of central differences
DIFFERENCE = 2e-8  # their error, in functions and derivatives of size one


def array_of(M):
    """A placement as the columns of its rotation, followed by its origin, shape (4, 3)."""
    return np.vstack([M.rotation.T, M.translation])


class Tree:
    """Five bodies with point masses, in two branches, and contacts between them and the ground.

    The contacts are carried by bodies 3, 5, 2 and 4; the last two touch bodies of the tree, one
    of another branch and one of its own.
    """

    joints, touched = np.array([3, 5, 2, 4]), np.array([0, 0, 5, 1])

    def __init__(self, seed=0):
        pin.seed(seed)
        self.rng = rng = np.random.default_rng(seed)
        self.model = model = pin.Model()
        kinds = [
            pin.JointModelFreeFlyer(),
            pin.JointModelRX(),
            pin.JointModelPY(),
            pin.JointModelRZ(),
            pin.JointModelSpherical(),
        ]
        self.points, self.masses = rng.normal(size=(5, 10, 3)), rng.uniform(0.1, 0.3, (5, 10))
        for k, (parent, kind) in enumerate(zip((0, 1, 2, 1, 4), kinds, strict=True)):
            joint = model.addJoint(parent, kind, pin.SE3.Random(), f"joint{k}")
            inertia = pin.Inertia.Zero()
            for point, mass in zip(self.points[k], self.masses[k], strict=True):
                inertia += pin.Inertia(mass, point, np.zeros((3, 3)))
            model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self.nv, self.n = model.nv, len(self.joints)
        self.q = pin.integrate(model, pin.neutral(model), 0.7 * rng.standard_normal(model.nv))
        self.v = rng.standard_normal(model.nv)
        self.local, self.radii = rng.normal(size=(4, 3)), np.array([0.1, 0.0, 0.2, 0.3])
        self.carried = self._moving(self.joints)
        self.moves = self._moving(self.touched) > 0.0
        self.support = self.carried - self.moves
        below = self._moving(np.arange(1, 6))  # dof l moves body b
        owner = np.repeat(np.arange(5), [joint.nv for joint in list(model.joints)[1:]])
        self.bodies_support, self.above = below, below[owner] > 0.0

    def _moving(self, joints):
        """1 for dofs that move a joint, shape (n, nv)."""
        J = np.zeros((len(joints), self.model.nv))
        for row, joint in zip(J, joints, strict=True):
            for j in list(self.model.supports[int(joint)])[1:]:
                first = self.model.joints[j].idx_v
                row[first : first + self.model.joints[j].nv] = 1.0
        return J

    def at(self, q):
        """Pinocchio's data, placements and motions of the dofs."""
        data = self.model.createData()
        S = pin.computeJointJacobians(self.model, data, q).T.copy()
        return data, np.array([array_of(M) for M in data.oMi]), S

    def moved(self, dq):
        """The configuration at a tangent."""
        return pin.integrate(self.model, self.q, dq)

    def differences(self, function, step=STEP):
        """Central differences of function(q) along the tangent, in the last axis."""
        sides = [
            [np.array(function(self.moved(s * dq))) for s in (1.0, -1.0)]
            for dq in step * np.eye(self.nv)
        ]
        return np.stack([(ahead - behind) / (2.0 * step) for ahead, behind in sides], axis=-1)

    def relative(self, q):
        """Placements of the carriers in the frames of the touched bodies."""
        data = self.at(q)[0]
        return [
            data.oMi[int(b)].actInv(data.oMi[int(a)])
            for a, b in zip(self.joints, self.touched, strict=True)
        ]

    def centres(self, q):
        """Centres of the spheres in the frames of the touched bodies, shape (n, 3)."""
        return np.array([M.act(p) for M, p in zip(self.relative(q), self.local, strict=True)])

    def balls(self, c):
        """Normals and curvatures of spheres around the origins of the touched bodies at points."""
        r = np.linalg.norm(c, axis=1)
        normal = c / r[:, None]
        flat = np.eye(3) - normal[:, :, None] * normal[:, None, :]
        return normal, flat / r[:, None, None]

    def generalised(self, q, points, wrenches):
        """Generalised force of wrenches at points, both in the frames of the touched bodies."""
        data, total = self.at(q)[0], np.zeros(self.nv)
        for a, b, p, f in zip(self.joints, self.touched, points, wrenches, strict=True):
            M = data.oMi[int(b)]
            force, moment = M.rotation @ f[:3], M.rotation @ np.append(f, np.zeros(3))[3:6]
            about = np.concatenate([force, moment + np.cross(M.act(p), force)])  # of the origin
            for sign, joint in ((1.0, a), (-1.0, b)):
                if joint:
                    J = pin.getJointJacobian(self.model, data, int(joint), pin.WORLD)
                    total += sign * J.T @ about
        return total
