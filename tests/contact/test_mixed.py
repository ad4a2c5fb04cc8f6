"""Different contact models on different contact points and terrain shapes."""

import core_samples as samples
import numpy as np
import pytest
from contracts import WrenchSpaceContract
from six_rows import Glue
from test_finite_differences import Blackbox

from nmdp_pin import Simulator
from nmdp_pin._contact import AnisotropicCone, FrictionCone, Mixed
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import ContactError, IntegratorError
from nmdp_pin.testing import contact_state, ground_through, weights

ROUNDING = 1e-12  # relative; a few operations in double precision
CONE = FrictionCone(stiffness=1e4, power=2, directions=5)
SKI = AnisotropicCone(stiffness=3e4, along=0.2, power=2, directions=8)
MIXES = {
    "by contact": Mixed(models=(CONE, SKI), by_contact=[0, 1, 1, 0, 1, 0, 0, 1]),
    "by surface": Mixed(models=(CONE, SKI), by_surface=[1, 0]),
    "forces and wrenches": Mixed(models=(CONE, SKI, Glue()), by_contact=[0, 1, 2, 2, 1, 0, 0, 2]),
    "both": Mixed(models=(CONE, Glue()), table=[[0, 1], [1, 0]] * 4),
}


class TestMixed(WrenchSpaceContract):
    @pytest.fixture(params=MIXES)
    def space(self, request):
        return MIXES[request.param]


def scene(kind="valley", n=8):
    rng = np.random.default_rng(5)
    position = 0.1 * rng.standard_normal((n, 3))
    ground = ground_through(kind, position)
    rotation = samples.pin.exp3(rng.standard_normal(3))
    return contact_state(ground, position, np.tile(rotation, (n, 1, 1)))


def test_each_contact_has_its_own_model():
    """The vertices of a contact are those of its model, and then their mean."""
    state = scene()
    assert set(state.surface) == {0, 1}
    table = [[0, 1], [1, 0]] * 4
    V = Mixed(models=(CONE, SKI), table=table).vertices(state)
    for i in range(8):
        model = (CONE, SKI)[table[i][state.surface[i]]]
        own = model.vertices(state.take(np.array([i])))[0]
        np.testing.assert_allclose(V[i, :, : model.n_vertices], own, rtol=ROUNDING)
        mean = own.mean(axis=1)[:, None]
        np.testing.assert_allclose(V[i, :, model.n_vertices :] - mean, 0.0, atol=1e-12)


def test_full_weights_press_as_hard_as_the_model_alone():
    """Equal weights give the same force whatever the other models' number of vertices is."""
    state = scene()
    mixed = Mixed(models=(CONE, SKI), by_surface=[0, 0])
    assert mixed.vertices(state).mean(axis=2) == pytest.approx(CONE.vertices(state).mean(axis=2))


def test_forces_among_wrenches_act_where_the_sphere_touches():
    """The generalised force of a three-row model is the same beside one of six rows."""
    robot = samples.robot("wheels")
    n = len(robot.contact_points)
    w = weights(n, CONE.n_vertices, np.random.default_rng(0))
    mixed = Mixed(models=(CONE, Glue()), by_contact=[0] * n)
    assert mixed.rows == 6
    found = []
    for space in (CONE, mixed):
        problem, q, _ = samples.problem_at(robot, "sphere", space, seed=6)
        at = problem.evaluate(q, w)
        found.append((at.G, problem.linearise(at).A, samples.world_wrenches(problem, at)))
    for alone, beside in zip(*found, strict=True):
        np.testing.assert_allclose(beside, alone, atol=1e-9 * np.abs(alone).max())


def test_contacts_rise_at_the_rates_of_their_models():
    """Each at its own rho / p; stops of joints at the largest rho."""
    laws = [FrictionCone(stiffness=1e4, power=p, recovery=r) for p, r in ((1, 6.0), (3, 12.0))]
    mix = Mixed(models=tuple(laws), by_contact=[0, 1, 0])
    assert np.array_equal(mix.rise_rates(np.arange(3), np.zeros(3, int)), [6.0, 4.0, 6.0])
    assert mix.recovery == 12.0


def test_it_is_differentiable_where_all_models_are():
    """One model without a derivative leaves the mix without, and only first order minds."""
    robot, ground = samples.robot("chain fixed"), Terrain([Plane(height=-5.0)])
    n = len(robot.contact_points)
    mixed = Mixed(models=(CONE, Blackbox()), by_contact=[0] * (n - 1) + [1])
    assert not mixed.differentiable
    for method in ("ne-nmdp", "pbd-nmdp"):
        with pytest.raises(IntegratorError, match="FiniteDifferences"):
            Simulator(robot, ground, mixed, method)
    for method in ("ne-zonmdp", "pbd-zonmdp", "ne-mdp"):
        Simulator(robot, ground, mixed, method)


@pytest.mark.parametrize("method", ["pbd", "pbfd", "ne-ncp"])
def test_methods_that_take_another_law_refuse_it(method):
    """A model that would be ignored without a word is refused, and the methods for it are named."""
    robot, ground = samples.robot("box"), Terrain([Plane()])
    with pytest.raises(IntegratorError, match="which is a law of ne-nmdp, pbd-nmdp, ne-mdp"):
        Simulator(robot, ground, SKI, method)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of by_contact, by_surface and table"),
        ({"by_contact": [0], "by_surface": [0]}, "one of"),
        ({"by_contact": [2]}, "from 0 to 1"),
        ({"by_contact": [-1]}, "from 0 to 1"),
        ({"by_contact": []}, "list of indices"),
        ({"by_contact": [0.5]}, "list of indices"),
        ({"by_surface": [[0]]}, "list of indices"),
        ({"table": [0]}, "list of indices"),
    ],
)
def test_bad_choices(arguments, message):
    """A choice that names no model is refused."""
    with pytest.raises(ContactError, match=message):
        Mixed(models=(CONE, SKI), **arguments)


def test_what_is_no_model_is_refused():
    """A class among the models is named."""
    with pytest.raises(ContactError, match="must be of type WrenchSpace, got <class"):
        Mixed(models=(CONE, AnisotropicCone), by_contact=[0])


def test_too_few_contacts_are_named():
    """A mix for four contact points on a robot of eight is refused."""
    mixed = Mixed(models=(CONE, SKI), by_contact=[0, 1] * 2)
    with pytest.raises(ContactError, match="here is contact 7"):
        Simulator(samples.robot("box"), Terrain([Plane()]), mixed)


def test_a_model_is_tried_at_two_contacts():
    """Of however many the robot has."""
    seen = []

    class Seen(Blackbox):
        def vertices(self, contacts):
            seen.append(len(contacts.depth))
            return Blackbox().vertices(contacts)

    Simulator(samples.robot("wheels"), Terrain([Plane()]), Seen(), "ne-zonmdp")
    assert seen == [2]
