"""How a cluster makes data: one family per file, behind the contract of :mod:`hashmix.components.contract`."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import Component
from hashmix.components.counts.bernoulli import BetaBernoulli
from hashmix.components.counts.multinomial import DirichletMultinomial
from hashmix.components.counts.poisson import GammaPoisson
from hashmix.components.gaussian.diagonal import DiagonalGaussian
from hashmix.components.gaussian.full import FullGaussian
from hashmix.components.mixed.categorical import Categorical
from hashmix.components.mixed.columns import MixedColumns
from hashmix.core.registry import Registry
from hashmix.data.dequantise import Lattice, dequantise
from hashmix.data.mixed import MixedRows, as_rows_with_blanks
from hashmix.data.rows import DenseRows, Rows, as_dense

__all__ = [
    "COMPONENTS",
    "BetaBernoulli",
    "Categorical",
    "Component",
    "DiagonalGaussian",
    "DirichletMultinomial",
    "FullGaussian",
    "GammaPoisson",
    "MixedColumns",
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
COMPONENTS.add("mixed", MixedColumns)
COMPONENTS.add("categorical", Categorical)

#: "auto" does not try full covariances of more columns: a sweep would take minutes.
_MOST_COLUMNS_OF_FULL = 128
#: Rows that are looked at first to see whether data are 0/1: nearly always, these show that they are not.
_LOOKED_AT = 1000
#: The largest mean of counts.
_COUNT_MEAN = 20


class Counts(NamedTuple):
    """Rows as counts, and the cells that their values are spread in for other components."""

    rows: Rows
    lattice: Lattice


class Resolved(NamedTuple):
    """A component, and the rows as its kernels take them.

    Attributes
    ----------
    component : Component
    rows : Rows
    columns : bool array of shape (n_features,)
        The columns of X that the rows have.
    dequantised : bool array of shape (n_features,)
        The columns that were spread within cells (:mod:`hashmix.data.dequantise`).
    source : Rows
        The rows before that: what identifies the data.
    candidates : tuple of Component
        What "auto" chooses from; the first is ``component``.
    counts : Counts or None
        The rows as candidates for counts take them, if there are such beside others.

    Examples
    --------
    >>> from hashmix.components import resolve_component
    >>> resolve_component("poisson", [[1, 0], [0, 2]]).columns
    array([ True,  True])
    """

    component: Component
    rows: Rows
    columns: np.ndarray
    dequantised: np.ndarray
    source: Rows
    candidates: tuple[Component, ...]
    counts: Counts | None = None


def families_for(component: Any, X: Any, owner: str) -> list[type[Component]]:
    """The classes that a ``component`` parameter stands for: one, or for "auto" those that suit the data."""
    if isinstance(component, Component):
        return [type(component)]
    name = COMPONENTS.check(component, owner, "auto")
    if name != "auto":
        family: Any = COMPONENTS[name]
        return [family]
    if isinstance(X, MixedRows):
        return [MixedColumns]
    if getattr(X, "is_sparse", False) or hasattr(X, "tocsr"):
        values = X.arrays.values if isinstance(X, Rows) else X.tocsr().data
        return [BetaBernoulli] if len(values) and (values == 1).all() else [DirichletMultinomial]
    rows = as_dense(X, owner)
    if _is_binary(rows):
        return [BetaBernoulli]
    # Fewer rows than columns do not tell how columns are correlated.
    full = rows.n_columns < rows.n_rows and rows.n_columns <= _MOST_COLUMNS_OF_FULL
    gaussians = [DiagonalGaussian, FullGaussian] if full else [DiagonalGaussian]
    return gaussians + ([GammaPoisson, DirichletMultinomial] if _may_be_counts(rows) else [])


def _is_binary(rows: DenseRows) -> bool:
    """Whether all entries are 0 or 1, and both occur."""
    least, most = rows.summary.least.min(), rows.summary.most.max()
    if least != 0.0 or most != 1.0:
        return False
    return all(((part == 0.0) | (part == 1.0)).all() for part in (rows.values[:_LOOKED_AT], rows.values))


def _may_be_counts(rows: DenseRows) -> bool:
    """Whether all entries are whole numbers ≥ 0, small on average, and all columns vary.

    Of large counts, a Gaussian is as good a description. A constant column is no count, and Gaussians leave it out.
    """
    _, _, least, most, _ = rows.summary
    if least.min() < 0.0 or (least == most).any() or rows.summary.mean.mean() > _COUNT_MEAN:
        return False
    if not all((part == np.floor(part)).all() for part in (rows.values[:_LOOKED_AT], rows.values)):
        return False
    return float(rows.values.sum(axis=0, dtype=np.float64).max()) < 2**31


def resolve_component(component: str | Component, X: Any, owner: str = "sample", key: int = 0) -> Resolved:
    """Resolve a ``component`` parameter and validate the data for it.

    An object is returned as it is. A name gives the family with hyperparameters that start from values chosen from the
    data and are learned. Gaussians chosen by name leave out constant columns, and spread values that many rows share within
    their cells.

    Parameters
    ----------
    component : str or Component
        A name of :data:`COMPONENTS`, "auto", or an object. "auto" for dense data has several candidates, a diagonal and, with
        at most 128 columns and more rows than columns, a full Gaussian, and for small whole numbers ≥ 0 Poisson and
        multinomial, and sampling chooses the one with the most evidence; it is Bernoulli if all entries are 0 or 1, and mixed
        columns if there are blanks (NaN) or columns of different kinds. For sparse data it is multinomial, or Bernoulli if all
        entries are 1.
    X : array, sparse matrix or Rows of shape (n_samples, n_features)
        The data.
    owner : str
        Whose parameter it is, for the error message.
    key : int, default=0
        Names the random numbers that columns are spread with.

    Returns
    -------
    Resolved

    Examples
    --------
    >>> from hashmix.components import resolve_component
    >>> resolved = resolve_component("gaussian", [[0.0, 7.0], [1.0, 7.0], [3.0, 7.0]])
    >>> type(resolved.component).__name__, resolved.rows.shape, resolved.columns
    ('DiagonalGaussian', (3, 1), array([ True, False]))
    """
    if not hasattr(X, "tocsr") and not isinstance(component, Component) and component == "auto":
        X = as_rows_with_blanks(X, owner)
    families = families_for(component, X, owner)
    source = families[0].rows(X, owner)
    columns = np.ones(source.n_columns, bool)
    dequantised = np.zeros(source.n_columns, bool)
    if isinstance(component, Component):
        return Resolved(component, source, columns, dequantised, source, (component,))
    rows = source
    if families[0].drops_constant_columns:
        columns = informative_columns(source)
        rows = source = source.select_columns(columns)
        rows, dequantised[columns] = dequantise(source, key)
    if component == "auto" and families[0] is DiagonalGaussian and _MOST_COLUMNS_OF_FULL < rows.n_columns < rows.n_rows:
        _advise_to_reduce(rows.n_columns)
    counts = None
    if families[-1].takes_counts and not families[0].takes_counts:
        counts = Counts(families[-1].rows(source, owner), Lattice.of(source))
    candidates = tuple(
        family.from_data(counts.rows if counts is not None and family.takes_counts else rows, learn=True) for family in families
    )
    return Resolved(candidates[0], rows, columns, dequantised, source, candidates, counts)


def _advise_to_reduce(n_columns: int) -> None:
    warnings.warn(
        f"Full covariances are not tried with more than {_MOST_COLUMNS_OF_FULL} columns. X has {n_columns}. If they are "
        "correlated, as those of embeddings are, then reduce them first, for example by sklearn.decomposition.PCA(50).",
        UserWarning,
        stacklevel=3,
    )


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
