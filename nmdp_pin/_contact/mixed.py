"""Different contact models on different contact points and terrain shapes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace, skew
from nmdp_pin._options import check_parts
from nmdp_pin.errors import ContactError


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixed(WrenchSpace):
    """Contact model that is chosen for each contact by its point and its terrain shape.

    Models of three and of six rows are combined to six, with moments about the centres of the
    spheres. Models with fewer vertices are padded with the mean of their own, which changes no
    polytope. The polytope jumps where a contact passes from one shape to another.

    Args:
        models: contact models, at least one.
        by_contact: index of the model for each contact point of the robot.
        by_surface: index of the model for each shape of the terrain.
        table: index of the model for each contact point (rows) on each shape (columns); give one
            of the three.

    Raises:
        ContactError: not exactly one of the three is given, or an index has no model.
    """

    models: tuple[WrenchSpace, ...]
    by_contact: Sequence[int] | None = None
    by_surface: Sequence[int] | None = None
    table: Sequence[Sequence[int]] | None = None
    _table: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        models = check_parts("models", self.models, WrenchSpace, ContactError)
        object.__setattr__(self, "models", models)
        given = {
            name: getattr(self, name)
            for name in ("by_contact", "by_surface", "table")
            if getattr(self, name) is not None
        }
        if len(given) != 1:
            raise ContactError(
                f"a mixed model takes one of by_contact, by_surface and table, got {[*given]}"
            )
        ((name, value),) = given.items()
        choice = np.asarray(value)
        fits = choice.ndim == (2 if name == "table" else 1) and choice.size > 0
        if not (fits and choice.dtype.kind in "iu"):
            raise ContactError(f"{name} must be a list of indices of models, got {value!r}")
        if choice.min() < 0 or choice.max() >= len(self.models):
            raise ContactError(
                f"{name} must hold indices from 0 to {len(self.models) - 1}, the models' "
                f"own, got {value!r}"
            )
        shape = {"by_contact": (-1, 1), "by_surface": (1, -1), "table": choice.shape}[name]
        object.__setattr__(self, "_table", choice.reshape(shape))

    @property
    def rows(self) -> int:
        """6 if one of the models has 6, else 3."""
        return max(model.rows for model in self.models)

    @property
    def differentiable(self) -> bool:
        """Whether all models have a `derivative`."""
        return all(model.differentiable for model in self.models)

    @property
    def n_vertices(self) -> int:
        """Largest number of vertices of the models."""
        return max(model.n_vertices for model in self.models)

    @property
    def recovery(self) -> float:
        """The largest one, at which stops of joints recover."""
        return max(model.recovery for model in self.models)

    def rise_rates(self, contact: np.ndarray, surface: np.ndarray) -> np.ndarray:
        """That of the model of each contact; see `WrenchSpace.rise_rates`."""
        rates, chosen = np.empty(len(contact)), self._models_of(contact, surface)
        for k, model in enumerate(self.models):
            own = chosen == k
            rates[own] = model.rise_rates(contact[own], surface[own])
        return rates

    @property
    def power(self) -> int:
        """The least one, with which a contact can give back the most."""
        return min(model.power for model in self.models)

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the class; shape (n, rows, n_vertices)."""
        V = np.empty((len(contacts.depth), self.rows, self.n_vertices))
        for model, rows, part in self._parts(contacts):
            own = model.vertices(part)
            if own.shape[1] < self.rows:
                own = np.concatenate([own, _lever(part) @ own], axis=1)
            n_own = model.n_vertices
            V[rows, :, :n_own] = own
            if n_own < self.n_vertices:
                V[rows, :, n_own:] = own.mean(axis=2, keepdims=True)
        return V

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """See `WrenchSpace.derivative`; shape (n, rows, 6)."""
        result = np.zeros((len(contacts.depth), self.rows, 6))
        for model, rows, part in self._parts(contacts):
            n_own = model.n_vertices
            means = w[rows, n_own:].sum(axis=1, keepdims=True) / n_own
            force = wrench[rows, : model.rows]
            own = model.derivative(part, w[rows, :n_own] + means, force)
            columns = own.shape[2]
            result[rows, : model.rows, :columns] = own
            if model.rows < self.rows:
                result[rows, 3:, :columns] = _lever(part) @ own
                if part.curvature is not None:
                    arm = part.radius[:, None, None] * part.curvature
                    result[rows, 3:, :3] += skew(force) @ arm
        return result

    def _parts(self, contacts: ContactState) -> list[tuple[WrenchSpace, np.ndarray, ContactState]]:
        """Models in use, with the rows of their contacts."""
        kind = self._models_of(contacts.contact, contacts.surface)
        parts = []
        for index, model in enumerate(self.models):
            rows = (kind == index).nonzero()[0]
            if len(rows):
                parts.append((model, rows, contacts.take(rows)))
        return parts

    def _models_of(self, contact: np.ndarray, surface: np.ndarray) -> np.ndarray:
        """Indices of the models of contacts on surfaces, shape (n,)."""
        try:
            found: np.ndarray = self._table[
                contact if self.by_surface is None else 0 * contact,
                surface if self.by_contact is None else 0,
            ]
        except IndexError:
            raise ContactError(
                f"the mixed model has rows for {self._table.shape} contact points and terrain "
                f"shapes; here is contact {contact.max()} on shape {surface.max()}, counted from 0"
            ) from None
        return found


def _lever(contacts: ContactState) -> np.ndarray:
    """[p - c]x: moment about the centre c of a force where the sphere touches, p = c - r n."""
    return skew(-contacts.radius[:, None] * contacts.normal)
