"""How a cluster makes data: one family a file, behind the contract of :mod:`hashmix.components.contract`."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.components.beta_bernoulli import BetaBernoulli
from hashmix.components.contract import Component
from hashmix.components.count_rows import as_counts
from hashmix.components.counts import CountComponent
from hashmix.components.diagonal_gaussian import DiagonalGaussian
from hashmix.components.dirichlet_multinomial import DirichletMultinomial
from hashmix.components.full_gaussian import FullGaussian
from hashmix.components.gamma_poisson import GammaPoisson
from hashmix.hashing.rows import SparseRows
from hashmix.validation import as_rows, bad_parameter

__all__ = [
    "BetaBernoulli",
    "Component",
    "DiagonalGaussian",
    "DirichletMultinomial",
    "FullGaussian",
    "GammaPoisson",
    "informative_columns",
    "prepare",
    "resolve_component",
]

#: "auto" takes a full covariance up to this many columns, a diagonal one above.
FULL_UP_TO = 16

_FAMILIES: dict[str, type[Component]] = {
    "gaussian": DiagonalGaussian,
    "gaussian-full": FullGaussian,
    "multinomial": DirichletMultinomial,
    "bernoulli": BetaBernoulli,
    "poisson": GammaPoisson,
}


def _family(component: Any, X: Any, owner: str) -> type[Component]:
    names: Any = ["auto", *_FAMILIES]
    if not isinstance(component, str) or component not in names:
        raise bad_parameter(owner, "component", "one of " + ", ".join(map(repr, names)) + ", or a Component", component)
    if component != "auto":
        return _FAMILIES[component]
    if isinstance(X, SparseRows) or hasattr(X, "tocsr"):
        values = X.values if isinstance(X, SparseRows) else X.tocsr().data
        return BetaBernoulli if len(values) and (values == 1).all() else DirichletMultinomial
    return FullGaussian if np.ndim(X) == 2 and np.shape(X)[1] <= FULL_UP_TO else DiagonalGaussian


def resolve_component(component: str | Component, X: Any, owner: str = "sample") -> Component:
    """The component a user means: an object as it is, a string with hyperparameters that are learned from the data.

    Parameters
    ----------
    component : str or Component
        "gaussian" (diagonal), "gaussian-full"; "multinomial", "bernoulli" or "poisson" for counts; "auto": of dense data full
        Gaussian up to 16 columns, diagonal above; of sparse data Bernoulli where all entries are 1, multinomial else; or an
        object.
    X : array or sparse matrix of shape (n_samples, n_features)
        The data that defaults are chosen from.
    owner : str
        Who asks, for the error message.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.components import resolve_component
    >>> type(resolve_component("auto", np.eye(3))).__name__
    'FullGaussian'
    """
    if isinstance(component, Component):
        return component
    return _family(component, X, owner).from_data(X, learn=True)


def prepare(component: str | Component, X: Any, owner: str) -> tuple[Component, Any, np.ndarray]:
    """The component a user means, the data as its kernels take them, and which columns of X these are.

    Examples
    --------
    >>> from hashmix.components import prepare
    >>> component, rows, columns = prepare("gaussian", [[0.0, 7.0], [1.0, 7.0]], "sample")
    >>> rows.shape, columns
    ((2, 1), array([ True, False]))
    """
    if isinstance(component, Component):
        rows = component.rows(X, owner)
        return component, rows, np.ones(rows.n_features if isinstance(rows, SparseRows) else rows.shape[1], bool)
    family = _family(component, X, owner)
    if issubclass(family, CountComponent):
        rows = as_counts(X, owner, family.binary)
        return family.from_data(rows, learn=True), rows, np.ones(rows.n_features, bool)
    rows = as_rows(X, owner)
    columns = informative_columns(rows)
    if not columns.all():
        rows = as_rows(rows[:, columns], owner)
    return resolve_component(component, rows, owner), rows, columns


def informative_columns(X: np.ndarray) -> np.ndarray:
    """Which columns have more than one value; the first alone when none has.

    A constant column says nothing about clusters, but a Gaussian of unknown variance would take it as overwhelming
    evidence that all rows belong together. Defaults chosen from the data leave such columns out.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.components import informative_columns
    >>> informative_columns(np.array([[1.0, 7.0], [2.0, 7.0]]))
    array([ True, False])
    """
    columns = X.max(axis=0) > X.min(axis=0)
    if not columns.any():
        columns[0] = True
    return columns
