"""The scalars of a posterior in the form of ArviZ."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hashmix.posterior.draws import Posterior

__all__ = ["to_arviz"]

_STATISTICS = ("log_joint", "log_likelihood")


def to_arviz(posterior: Posterior) -> Any:
    """See :meth:`hashmix.Posterior.to_arviz`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # the last 0.x announces 1.0
            import arviz
    except ImportError:
        raise ImportError("to_arviz needs ArviZ: pip install 'hashmix[arviz]'.") from None
    quantities = posterior.scalars()
    learned = posterior.hyperparameters
    scalars = {name: values for name, values in quantities.items() if name not in _STATISTICS and "[" not in name}
    groups: Any = {
        "posterior": scalars | {name: values for name, values in learned.items() if values.ndim > 2},
        "sample_stats": {"lp": posterior.log_joint, "log_likelihood_of_data": posterior.log_likelihood}
        | {
            f"acceptance_rate_{move}": fields["accepted"] / np.maximum(fields["proposed"], 1)
            for move, fields in posterior.move_stats.items()
        },
    }
    about = {"inference_library": "hashmix", "inference_library_version": version("hashmix")}
    if int(version("arviz").split(".")[0]) < 1:
        return arviz.from_dict(**groups, posterior_attrs=about, sample_stats_attrs=about)
    return arviz.from_dict(groups, attrs=dict.fromkeys(("/", *groups), about))
