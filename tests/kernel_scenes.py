"""Trees of joints and contacts as the arrays that kernels take, made by pinocchio."""

from dataclasses import replace
from types import FunctionType

import numpy as np
import pinocchio as pin

from nmdp_pin._contact import WrenchSpace
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.kinematic_tree import tree_of
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.step.stage import evaluate, linearise
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._terrain import Sphere, Terrain

H = 0.03  # [s] of a stage
STEP = 1e-6  # [rad, m] of central differences
DIFFERENCE = 2e-8  # their error, in functions and derivatives of size one
BALL = Terrain([Sphere(radius=1.5)])  # around the origins of the touched bodies
NO_POINTS = ContactPoints((), np.zeros(0, int), np.zeros((0, 3)), np.zeros(0))
KINDS = {
    "floating": [
        pin.JointModelFreeFlyer(),
        pin.JointModelRX(),
        pin.JointModelPY(),
        pin.JointModelRZ(),
        pin.JointModelSpherical(),
    ],
    "flat": [
        pin.JointModelTranslation(),
        pin.JointModelRX(),
        pin.JointModelPY(),
        pin.JointModelRZ(),
        pin.JointModelRY(),
    ],
}


def interpreted(kernel):
    """A kernel that takes any object with the fields of a record, and has its arrays of NumPy."""
    function = getattr(kernel, "py_func", kernel)
    arrays = {"vector": np.zeros, "matrix": lambda m, n: np.zeros((m, n))}
    return FunctionType(function.__code__, function.__globals__ | arrays)


def robot_of(model, points=NO_POINTS, **more):
    """A robot that consists of a model."""
    return Robot("tree", model, points, np.arange(0), pin.neutral(model), **more)


def array_of(M):
    """A placement as the columns of its rotation, followed by its origin, shape (4, 3)."""
    return np.vstack([M.rotation.T, M.translation])


class Tree:
    """Five bodies with point masses, in two branches, and contacts between them and the ground.

    The contacts are carried by bodies 3, 5, 2 and 4; the last two touch bodies of the tree, one
    of another branch and one of its own.
    """

    joints, touched = np.array([3, 5, 2, 4]), np.array([0, 0, 5, 1])

    def __init__(self, seed=0, kinds="floating", weightless=False):
        pin.seed(seed)
        self.rng = rng = np.random.default_rng(seed)
        self.model = model = pin.Model()
        self.points, self.masses = rng.normal(size=(5, 10, 3)), rng.uniform(0.1, 0.3, (5, 10))
        for k, (parent, kind) in enumerate(zip((0, 1, 2, 1, 4), KINDS[kinds], strict=True)):
            joint = model.addJoint(parent, kind, pin.SE3.Random(), f"joint{k}")
            inertia = pin.Inertia.Zero()
            for point, mass in zip(self.points[k], self.masses[k], strict=True):
                inertia += pin.Inertia(mass, point, np.zeros((3, 3)))
            if not weightless:
                model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self.nv, self.n = model.nv, len(self.joints)
        self.q = pin.integrate(model, pin.neutral(model), 0.7 * rng.standard_normal(model.nv))
        self.v = rng.standard_normal(model.nv)
        self.local, self.radii = rng.normal(size=(4, 3)), np.array([0.1, 0.0, 0.2, 0.3])

    @property
    def robot(self):
        """The robot, whose contacts with bodies are with balls."""
        names = tuple("abcd")
        points = ContactPoints(names, self.joints, self.local, self.radii, self.touched)
        return robot_of(self.model, points, surfaces={int(b): BALL for b in self.touched if b})

    @property
    def arrays(self):
        """Joints and bodies as the kernels have them."""
        return tree_of(self.robot)

    def at(self, q):
        """Pinocchio's data, placements and motions of the dofs."""
        data = self.model.createData()
        S = pin.computeJointJacobians(self.model, data, q).T.copy()
        return data, np.array([array_of(M) for M in data.oMi]), S

    def point_inertia(self, q):
        """Mass matrix without the rotors, from the masses of the points, shape (nv, nv)."""
        data, M = self.at(q)[0], np.zeros((self.nv, self.nv))
        for b in range(5):
            for J, mass in zip(self.point_jacobians(data, b), self.masses[b], strict=True):
                M += mass * J.T @ J
        return M

    def point_jacobians(self, data, b):
        """Jacobians of the points of body b, shape (10, 3, nv)."""
        J = pin.getJointJacobian(self.model, data, b + 1, pin.LOCAL_WORLD_ALIGNED)
        arms = self.points[b] @ data.oMi[b + 1].rotation.T
        return np.array([J[:3] - pin.skew(arm) @ J[3:] for arm in arms])

    def moved(self, dq):
        """The configuration at a tangent."""
        return pin.integrate(self.model, self.q, dq)

    def differences(self, function, q=None):
        """Central differences of function(q) along the tangent at q, in the last axis."""
        q = self.q if q is None else q
        sides = [
            [np.array(function(pin.integrate(self.model, q, s * dq))) for s in (1.0, -1.0)]
            for dq in STEP * np.eye(self.nv)
        ]
        return np.stack([(ahead - behind) / (2.0 * STEP) for ahead, behind in sides], axis=-1)

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

    def about_origin(self, q, points, wrenches):
        """Wrenches, given at points in the touched bodies' frames, about the world's origin."""
        data, result = self.at(q)[0], []
        for b, p, f in zip(self.touched, points, wrenches, strict=True):
            M = data.oMi[int(b)]
            force, moment = M.rotation @ f[:3], M.rotation @ np.append(f, np.zeros(3))[3:6]
            result.append(np.concatenate([force, moment + np.cross(M.act(p), force)]))
        return np.array(result)

    def generalised(self, q, points, wrenches):
        """Generalised force of wrenches at points, both in the frames of the touched bodies."""
        data, total = self.at(q)[0], np.zeros(self.nv)
        about = self.about_origin(q, points, wrenches)
        for a, b, f in zip(self.joints, self.touched, about, strict=True):
            for sign, joint in ((1.0, a), (-1.0, b)):
                if joint:
                    J = pin.getJointJacobian(self.model, data, int(joint), pin.WORLD)
                    total += sign * J.T @ f
        return total


class Affine(WrenchSpace):
    """Vertices that change linearly with the translation of the centres, or with rotation too.

    Args:
        V: vertices of all contacts at the start, shape (n, rows, m).
        own: their derivatives, shape (n, m, rows, columns).
        centre: centres at the start, shape (n, 3).
        rotation: rotations of the carriers there, shape (n, 3, 3).
    """

    def __init__(self, V, own, centre, rotation):
        self._V, self._own, self._centre, self._rotation = V, own, centre, rotation

    @property
    def rows(self):
        return self._V.shape[1]

    @property
    def n_vertices(self):
        return self._V.shape[2]

    def vertices(self, contacts):
        k, columns = contacts.contact, self._own.shape[3]
        turned = zip(contacts.rotation, self._rotation[k], strict=True)
        turns = np.array([pin.log3(R @ before.T) for R, before in turned])
        moved = np.hstack([contacts.position - self._centre[k], turns])[:, :columns]
        return self._V[k] + np.einsum("nmrc,nc->nrm", self._own[k], moved)

    def derivative(self, contacts, w, wrench):
        return np.einsum("nm,nmrc->nrc", w, self._own[contacts.contact])


class Contacts(Tree):
    """Contacts with balls in a stage of a tree without mass; the second of the four has left.

    Motions are displacements since a configuration `q0`, or a time H at the velocity v. With a cone
    all four have forces, also those apart.
    """

    def __init__(
        self, rows=3, *, kinds="floating", columns=3, displaced=True, recovery=0.0, cone=None
    ):
        super().__init__(0, kinds, weightless=True)
        rng, self.rows = self.rng, rows
        self.data, self.P, self.S = self.at(self.q)
        self.V, self.own = (
            rng.standard_normal((4, rows, 5)),
            rng.standard_normal((4, 5, rows, columns)),
        )
        self.V[1] = self.own[1] = 0.0
        self.V[0, 0, 0] = 1.0  # which is no zero to be left out
        self.active, self.w = np.array([0, 2, 3]), rng.dirichlet(np.ones(6), 4)[:, :5]
        self.centre, rotation = self.centres(self.q), [M.rotation for M in self.relative(self.q)]
        self.normal, self.curvature = self.balls(self.centre)
        law = cone or Affine(self.V, self.own, self.centre, np.array(rotation))
        self.form = CompiledSystem(System(self.robot, BALL, law))
        if cone:
            self.active, self.w = np.arange(4), rng.uniform(0.2, 1.0, (4, 3))
        rates = replace(self.form.candidates, rise=np.full(4, recovery))
        self.system = replace(self.form.record, candidates=rates, recovery=recovery)
        self.q0 = self.moved(-0.4 * rng.standard_normal(self.nv))
        self.stage = replace(
            self.form.new_stage(), displaced=displaced, rate=1.0 / H, q_ref=self.moved(-H * self.v)
        )
        self.reference = self.stage.contacts.reference
        self.reference[:] = [array_of(M) for M in self.relative(self.q0)]

    @property
    def arms(self):
        """From the centres to the points where the wrenches act, shape (4, 3)."""
        return -self.radii[:, None] * self.normal if self.rows == 3 else np.zeros((4, 3))

    def evaluated(self, q=None, w=None):
        """The point at a configuration."""
        at = self.form.new_point()
        at.q[:] = self.q if q is None else q
        at.w[:] = self.w if w is None else w
        evaluate(self.system, self.stage, at, True)
        return at

    def linearised(self, at):
        """The derivatives at a point."""
        linear = self.form.new_linear()
        linearise(self.system, self.stage, at, linear)
        return linear

    def motions(self, q):
        """Motions since the reference at a configuration, with the surfaces there."""
        normal = self.balls(self.centres(q))[0]
        parts = zip(self.relative(q), self.reference, self.local, normal, self.radii, strict=True)
        return np.array([motion(*part, self.rows) for part in parts])

    def velocities(self):
        """Rates of the material points where the wrenches act, and turning rates, shape (4, 6)."""
        ends = [self.relative(self.moved(s * STEP * self.v)) for s in (1.0, -1.0)]
        result = []
        for M, point, ahead, behind in zip(
            self.relative(self.q), self.centre + self.arms, *ends, strict=True
        ):
            material = M.actInv(point)
            turn = pin.log3(ahead.rotation @ behind.rotation.T)
            result.append(np.append(ahead.act(material) - behind.act(material), turn))
        return np.array(result) / (2.0 * STEP)


def motion(M, reference, local, normal, radius, rows):
    """Displacement on which a wrench works, of a reference that may be sheared: shape (rows,).

    Forces work on that of the material point that touches; wrenches on that of the centre, and on
    the rotation as its axis times the sine of its angle.
    """
    centre = M.act(local)
    material = local - (radius * M.rotation.T @ normal if rows == 3 else 0.0)
    end = M.act(material) if rows == 3 else centre
    change = end - (reference[3] + material @ reference[:3])
    if rows == 3:
        return change
    turn = pin.log3(M.rotation @ reference[:3])
    return np.append(change, turn * np.sinc(np.linalg.norm(turn) / np.pi))
