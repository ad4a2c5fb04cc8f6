"""Kinematic trees of a model that are rooted in the world, each with a model of its own.

Pinocchio's data hold four arrays of nv^3 numbers, which takes 7 GB for a hundred free bodies: what
has several large trees is computed tree by tree.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

Inertia = tuple[np.ndarray, np.ndarray]
"""Mass matrix, shape (nv, nv), and the masses that the dofs move, shape (nv,)."""

_SMALL = 64  # dofs up to which one model is faster


@dataclass(frozen=True)
class ModelTree:
    """Joints that follow one another, whose parents are the world or among them.

    Args:
        model: model of these joints alone.
        joints: their numbers, as a slice.
        q: their coordinates, as a slice.
        v: their dofs, as a slice.
    """

    model: pin.Model
    joints: slice
    q: slice
    v: slice


def spans_of(model: pin.Model) -> tuple[np.ndarray, np.ndarray]:
    """First dofs of the trees of a model, and the end; first dof and end of each joint's tree.

    Trees whose joints are not numbered one after another count as one; shapes (t + 1,) and
    (njoints, 2), the latter 0 for the universe.
    """
    joints = list(model.joints)[1:]
    first = np.array([*(joint.idx_v for joint in joints), model.nv], dtype=np.int64)
    roots = _roots(model)
    groups = np.array([*first[roots - 1], model.nv], dtype=np.int64)
    spans = np.zeros((model.njoints, 2), np.int64)
    ends = [*roots[1:], model.njoints]
    for tree, (begin, end) in enumerate(zip(roots, ends, strict=False)):
        spans[begin:end] = groups[tree : tree + 2]
    return groups, spans


def trees_of(model: pin.Model) -> list[ModelTree]:
    """The trees of a model; where it is small the model itself."""
    if model.nv <= _SMALL:
        whole = slice(1, model.njoints), slice(0, model.nq), slice(0, model.nv)
        return [ModelTree(model, *whole)]
    roots = _roots(model).tolist()
    ends = [*roots[1:], model.njoints]
    return [_tree_of(model, *each) for each in zip(roots, ends, strict=True)]


def _roots(model: pin.Model) -> np.ndarray:
    """First joints of the trees."""
    parents = np.array(list(model.parents)[1:], dtype=np.int64)
    above = np.where(parents > 0, parents, model.njoints)
    lowest = np.minimum.accumulate(above[::-1])[::-1]  # of a joint and all that follow it
    return np.flatnonzero(lowest > np.arange(len(parents))) + 1


def _tree_of(model: pin.Model, begin: int, end: int) -> ModelTree:
    """The tree of the joints from `begin` to `end`."""
    own, joints = pin.Model(), [model.joints[j] for j in range(begin, end)]
    own.gravity = model.gravity
    for j, joint in enumerate(joints, begin):
        parent = max(int(model.parents[j]) - begin + 1, 0)
        placement, name = model.jointPlacements[j], str(model.names[j])
        own.appendBodyToJoint(
            own.addJoint(parent, joint, placement, name), model.inertias[j], pin.SE3.Identity()
        )
    q = slice(joints[0].idx_q, joints[0].idx_q + own.nq)
    v = slice(joints[0].idx_v, joints[0].idx_v + own.nv)
    own.armature[:] = model.armature[v]
    own.rotorInertia[:], own.rotorGearRatio[:] = model.rotorInertia[v], model.rotorGearRatio[v]
    return ModelTree(own, slice(begin, end), q, v)


def placements_at(model: pin.Model, q: np.ndarray) -> list[pin.SE3]:
    """Placements of all joints at a configuration, the universe first."""
    found = [pin.SE3.Identity()]
    for tree in trees_of(model):
        data = tree.model.createData()
        pin.forwardKinematics(tree.model, data, np.asarray(q[tree.q], dtype=float))
        found += [pin.SE3(M) for M in list(data.oMi)[1:]]
    return found


def inertia_at(model: pin.Model, q: np.ndarray) -> Inertia:
    """Inertia of a model at a configuration."""
    M, masses = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    for tree in trees_of(model):
        data, own = tree.model.createData(), slice(0, tree.model.nv)
        M[tree.v, tree.v] = pin.crba(tree.model, data, np.asarray(q[tree.q], dtype=float))
        pin.computeSubtreeMasses(tree.model, data)
        sizes = [joint.nv for joint in list(tree.model.joints)[1:]]
        masses[tree.v] = np.repeat(np.array(list(data.mass)[1:]), sizes)[own]
    return M, masses
