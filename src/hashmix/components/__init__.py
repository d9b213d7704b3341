"""How a cluster makes data: one family a file, behind the contract of :mod:`hashmix.components.contract`."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.components.contract import Component
from hashmix.components.diagonal_gaussian import DiagonalGaussian
from hashmix.components.full_gaussian import FullGaussian
from hashmix.components.gaussian import GaussianComponent
from hashmix.validation import bad_parameter

__all__ = ["Component", "DiagonalGaussian", "FullGaussian", "informative_columns", "resolve_component"]

#: "auto" takes a full covariance up to this many columns, a diagonal one above.
FULL_UP_TO = 16

_FAMILIES: dict[str, type[GaussianComponent]] = {"gaussian": DiagonalGaussian, "gaussian-full": FullGaussian}


def resolve_component(component: str | Component, X: np.ndarray, owner: str = "sample") -> Component:
    """The component a user means: an object as it is, a string with hyperparameters that are learned from the data.

    Parameters
    ----------
    component : str or Component
        "auto" (full Gaussian up to 16 columns, diagonal above), "gaussian" (diagonal), "gaussian-full", or an object.
    X : ndarray of shape (n_samples, n_features)
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
    names: Any = ["auto", *_FAMILIES]
    if not isinstance(component, str) or component not in names:
        raise bad_parameter(owner, "component", "one of " + ", ".join(map(repr, names)) + ", or a Component", component)
    if component == "auto":
        component = "gaussian-full" if X.shape[1] <= FULL_UP_TO else "gaussian"
    return _FAMILIES[component].from_data(X, learn=True)


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
