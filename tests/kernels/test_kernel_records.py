"""Records that Python and kernels share, arrays on the stack, and frozen dataclasses."""

import dataclasses
import inspect
import pickle
import re

import numba
import numpy as np
import pytest
from contact_laws import law_for
from numba import objmode

from nmdp_pin._contact import FrictionCone
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS, StepResult
from nmdp_pin._kernels.algebra.manifold import Manifold
from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.compiler.record import indices, matrix, vector, zero_matrix, zero_vector
from nmdp_pin._kernels.contact.friction_cone import Cone
from nmdp_pin._kernels.geometry.contacts import ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import Polytopes
from nmdp_pin._kernels.geometry.triangles import Triangles
from nmdp_pin._kernels.step.stage_records import Stage
from nmdp_pin._kernels.tree.joints import Torque
from nmdp_pin._robot import free_body, load_robot, together, touching
from nmdp_pin._state.quick_record import quick
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Box, Plane, Terrain

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")


def stage(target):
    """A record with numbers, arrays and a record, whose target is given."""
    torque = Torque(*(np.full(2, float(i)) for i in range(6)))
    return Stage(
        form=2,
        displaced=True,
        closes=True,
        gaps=np.zeros(0),
        held=np.zeros(0, bool),
        q_ref=np.arange(3.0),
        v_ref=np.zeros(2),
        rate=4.0,
        target=target,
        torque=torque,
        script=np.zeros(2),
        contacts=torque,
        frames=np.zeros((0, 2, 4, 3)),
    )


TARGETS = (
    np.arange(24.0).reshape(2, 4, 3),
    np.asfortranarray(np.arange(24.0).reshape(2, 4, 3)),
    np.arange(96.0).reshape(4, 4, 6)[::2, :, ::2],
)


@pytest.mark.parametrize("target", TARGETS, ids=["rows", "columns", "strided"])
def test_kernels_read_fields_of_every_layout(target):
    """Numbers, arrays and records within records are what Python has."""

    def read(s):
        total = s.rate + s.form + s.q_ref[2] + s.torque.kd[1] + (100.0 if s.displaced else 0.0)
        return total + s.target[1, 2, 1], s.target.shape[2]

    made = stage(target)
    assert jit(read)(made) == (4.0 + 2 + 2.0 + 2.0 + 100.0 + target[1, 2, 1], 3)


def test_frozen_records_keep_their_fields():
    """Neither numbers nor arrays are set anew; kernels read both."""
    made = Manifold(*(np.arange(k) for k in (1, 2, 3)), True)
    for field in dataclasses.fields(made):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, getattr(made, field.name))
    last = dataclasses.replace(made, flat=False)
    assert jit(lambda m: (m.flat, m.first_v[2]))(made) == (True, 2)
    assert jit(lambda m: (m.flat, m.first_v[2]))(last) == (False, 2)


def test_numbers_and_arrays_are_shared():
    """What one side writes, the other reads."""

    def write(s):
        s.rate += 1.0
        s.displaced = not s.displaced
        s.form = 7
        s.torque.kd[0] = s.q_ref[0]
        return s.rate

    made, kernel = stage(TARGETS[0]), jit(write)
    made.q_ref[0] = 9.0
    assert kernel(made) == 5.0
    assert (made.rate, made.displaced, made.form) == (5.0, False, 7)
    assert made.torque.kd[0] == 9.0
    made.rate = -1.0
    assert kernel(made) == 0.0
    assert made.displaced is True


def test_kernels_do_not_replace_arrays():
    """An assignment to an array field is refused, as its memory would be lost."""

    def replace(s):
        s.q_ref = np.zeros(3)

    with pytest.raises((TypeError, numba.core.errors.LoweringError)):
        jit(replace)(stage(TARGETS[0]))


SEEN = []


def test_python_gets_its_own_record_back():
    """A kernel that calls Python hands over the object itself."""

    def call(s):
        with objmode():
            SEEN.append(s)

    made = stage(TARGETS[0])
    kernel = numba.njit(call)
    kernel(made)
    assert SEEN.pop() is made


def test_records_are_pickled_and_replaced():
    """Copies have equal fields and memory of their own."""
    made = stage(TARGETS[0])
    for other in (pickle.loads(pickle.dumps(made)), dataclasses.replace(made, rate=8.0)):
        np.testing.assert_array_equal(other.target, made.target)
        other.rate = 3.0
        assert made.rate == 4.0


def test_local_arrays():
    """Of fixed and of variable shapes, set to zero where that is said."""

    def use(n):
        total = 0.0
        for _ in range(3):  # the memory of a call before is not seen
            total += inner(n)
        return total

    def of_shapes(n):
        a, b, c, d = vector(3), zero_matrix(n, 2), zero_vector(n), indices(4)
        e = matrix(2, 5)
        for i in range(3):
            a[i] = 1.0
        for i in range(4):
            d[i] = i
        total = a.sum() + b.sum() + c.sum() + d[3] + e.shape[1]
        b[n - 1, 1] = c[n - 1] = 9.0
        e[1, 4] = 2.0
        return total + e[1, 4]

    inner = jit(of_shapes)
    assert jit(use)(6) == 3 * (3.0 + 3.0 + 5.0 + 2.0)


@pytest.mark.parametrize("cls", [State, StepResult])
def test_quick_dataclasses_are_made_as_others(cls):
    """By position and by name, with the defaults and the signature of the dataclass; frozen."""
    plain = dataclasses.make_dataclass(
        "Plain",
        [
            (f.name, f.type, f) if f.default is dataclasses.MISSING else (f.name, f.type, f.default)
            for f in dataclasses.fields(cls)
        ],
        frozen=True,
    )
    assert list(inspect.signature(cls).parameters) == list(inspect.signature(plain).parameters)
    required = [f for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    values = list(range(len(required)))
    made = cls(*values)
    for field in dataclasses.fields(cls):
        expected = values[required.index(field)] if field in required else field.default
        assert getattr(made, field.name) is expected or np.isnan(expected)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, required[0].name, 1)
    with pytest.raises(TypeError):
        cls(*values, nothing=1)
    assert quick(plain) is plain


# A field of a record in its docstring, with the shape at the end of what is said of it.
FIELD = re.compile(r"^    (\w+): (.*?)(?=^    \w+: |^\S|\Z)", re.MULTILINE | re.DOTALL)
TABLES = (Cone, ContactPairs, Contacts, Polytopes, Triangles)  # whose sizes have names of their own
SHAPE = re.compile(r"\(([^()=]*)\)[.,;]?\s*$")


def wrong_shapes(record, sizes):
    """Arrays of a record and of those in it that have other shapes than it says.

    Args:
        record: the record.
        sizes: values of names such as nv; others have the value of their first occurrence.
    """
    found, known = [], {} if isinstance(record, TABLES) else dict(sizes)
    told = dict(FIELD.findall(inspect.getdoc(type(record)).partition("Args:\n")[2]))
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(part):
                found += wrong_shapes(part, sizes)
        shape = SHAPE.search(" ".join(told.get(field.name, "").split()))
        if not isinstance(value, np.ndarray) or shape is None:
            continue
        product = re.sub(r"(\d) (\w)", r"\1 * \2", shape[1])
        names = [name.strip() for name in product.split(",") if name.strip()]
        for name, size in zip(names, value.shape, strict=False):
            for letter in re.findall(r"[a-z]+", name):
                known.setdefault(letter, size - (1 if name == f"{letter} + 1" else 0))
        wanted = tuple(eval(name, {}, known) for name in names)
        if wanted != value.shape and len(value):  # else memory that is not used
            found.append((type(record).__name__, field.name, shape[0], value.shape))
    return found


def two_boxes():
    """A box on another, whose corners and edges touch each other and the ground."""
    box = Box(size=(0.2, 0.3, 0.4))
    above = free_body("above", box, mass=1.0, position=(0.0, 0.0, 0.6))
    return touching(together(free_body("below", box, mass=1.0, position=(0.0, 0.0, 0.2)), [above]))


@pytest.mark.parametrize(
    "make", [two_boxes, lambda: load_robot("go2", visuals=False)], ids=["boxes", "go2"]
)
@pytest.mark.parametrize("method", ["ne-zonmdp", "pbfd"])
def test_arrays_have_the_shapes_that_are_told(make, method):
    """The docstrings of records say the shapes of all memory."""
    robot, law = make(), law_for(method, FrictionCone(stiffness=1e6))
    method = INTEGRATORS[method](System(robot, Terrain(Plane()), law))
    model = robot.model
    sizes = {"nq": model.nq, "nv": model.nv, "n": model.njoints - 1}
    if isinstance(law, FrictionCone):
        form = method.form
        sizes |= {"k": form.n_contacts, "r": form.n_joints, "p": form.n_points, "m": form.m}
        records = [form.record, form.new_memory(), form.new_start(2), form.new_end()]
    else:
        records = [method.memory]
    assert [wrong for record in records for wrong in wrong_shapes(record, sizes)] == []
