"""How a cluster makes data: one family per file, behind the contract of :mod:`hashmix.components.contract`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import Component
from hashmix.components.counts.bernoulli import BetaBernoulli
from hashmix.components.counts.multinomial import DirichletMultinomial
from hashmix.components.counts.poisson import GammaPoisson
from hashmix.components.gaussian.diagonal import DiagonalGaussian
from hashmix.components.gaussian.full import FullGaussian
from hashmix.core.registry import Registry
from hashmix.data.rows import Rows

__all__ = [
    "COMPONENTS",
    "BetaBernoulli",
    "Component",
    "DiagonalGaussian",
    "DirichletMultinomial",
    "FullGaussian",
    "GammaPoisson",
    "Resolved",
    "informative_columns",
    "resolve_component",
]

#: The families that have a name. Add one of your own with ``COMPONENTS.add("my-family", MyComponent)``.
COMPONENTS: Registry[Component] = Registry("component", Component)
COMPONENTS.add("gaussian", DiagonalGaussian)
COMPONENTS.add("gaussian-full", FullGaussian)
COMPONENTS.add("multinomial", DirichletMultinomial)
COMPONENTS.add("bernoulli", BetaBernoulli)
COMPONENTS.add("poisson", GammaPoisson)

#: "auto" takes a full covariance up to this many columns, a diagonal one above.
FULL_UP_TO = 16


class Resolved(NamedTuple):
    """A component, the rows as its kernels take them, and a mask of the columns of X that the rows have.

    Examples
    --------
    >>> from hashmix.components import resolve_component
    >>> resolve_component("poisson", [[1, 0], [0, 2]]).columns
    array([ True,  True])
    """

    component: Component
    rows: Rows
    columns: np.ndarray


def family_of(component: Any, X: Any, owner: str) -> type[Component]:
    """The class that a ``component`` parameter stands for."""
    if isinstance(component, Component):
        return type(component)
    name = COMPONENTS.check(component, owner, "auto")
    if name != "auto":
        family: Any = COMPONENTS[name]
        return family
    if getattr(X, "is_sparse", False) or hasattr(X, "tocsr"):
        values = X.arrays.values if isinstance(X, Rows) else X.tocsr().data
        return BetaBernoulli if len(values) and (values == 1).all() else DirichletMultinomial
    return FullGaussian if len(np.shape(X)) == 2 and np.shape(X)[1] <= FULL_UP_TO else DiagonalGaussian


def resolve_component(component: str | Component, X: Any, owner: str = "sample") -> Resolved:
    """Resolve a ``component`` parameter and validate the data for it.

    An object is returned as it is. A name gives the family with hyperparameters that start from values chosen from the
    data and are learned; constant columns are then left out if the family says so.

    Parameters
    ----------
    component : str or Component
        A name of :data:`COMPONENTS`, "auto", or an object. "auto": for dense data a full Gaussian up to 16 columns and a
        diagonal one above; for sparse data Bernoulli if all entries are 1, else multinomial.
    X : array, sparse matrix or Rows of shape (n_samples, n_features)
        The data.
    owner : str
        Whose parameter it is, for the error message.

    Returns
    -------
    Resolved
        ``component``, ``rows`` and ``columns``.

    Examples
    --------
    >>> from hashmix.components import resolve_component
    >>> component, rows, columns = resolve_component("gaussian", [[0.0, 7.0], [1.0, 7.0]])
    >>> type(component).__name__, rows.shape, columns
    ('DiagonalGaussian', (2, 1), array([ True, False]))
    """
    family = family_of(component, X, owner)
    rows = family.rows(X, owner)
    columns = np.ones(rows.n_columns, bool)
    if isinstance(component, Component):
        return Resolved(component, rows, columns)
    if family.drops_constant_columns:
        columns = informative_columns(rows)
        rows = rows.select_columns(columns)
    return Resolved(family.from_data(rows, learn=True), rows, columns)


def informative_columns(rows: Rows) -> np.ndarray:
    """Mask of the columns with more than one value; the first column if none has.

    A constant column says nothing about clusters, but a Gaussian of unknown variance would take it as overwhelming
    evidence that all rows belong together. So components chosen by name leave such columns out.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.components import informative_columns
    >>> from hashmix.data.rows import as_dense
    >>> informative_columns(as_dense(np.array([[1.0, 7.0], [2.0, 7.0]])))
    array([ True, False])
    """
    columns = rows.summary.most > rows.summary.least
    if not columns.any():
        columns[0] = True
    return columns
