"""What the baselines trained by torch share: parameters, rows, one training run.

`TorchBaseline` is the interface of scikit-learn around `baselines.training`, which alone imports
torch and is itself imported when something is fitted. Each baseline says which network, which
optimiser and what is kept of the network.

Parameters are fields of dataclasses, so that each is written once: scikit-learn reads the signature
of the generated constructor, which stores them as they are.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.estimators.callbacks import progress_bar
from dgtrees.estimators.parameters import unchanged_on_error
from dgtrees.estimators.tables import TableEstimator
from dgtrees.tables.examples import Examples

if TYPE_CHECKING:
    import torch

    from dgtrees.paper.baselines.training import BaselineNetwork, Run, Standardiser

__all__ = ["TorchBaseline"]

ABOVE_0 = 5e-324

# Whether a whole number, the least value, and the value it must stay below.
_RANGES: dict[str, tuple[bool, float, float]] = {
    "max_depth": (True, 1, 16),
    "max_epochs": (True, 1, inf),
    "batch_size": (True, 1, inf),
    "learning_rate": (False, ABOVE_0, inf),
}
_CHOICES = {"keep": ("best", "last")}


# Without eq an estimator stays equal to itself alone; without repr it keeps scikit-learn's.
@dataclass(eq=False, repr=False)
class TorchBaseline(TableEstimator):
    """Fit of a network on encoded, standardised rows."""

    max_depth: int = 6
    _: KW_ONLY
    learning_rate: float = 1e-2
    max_epochs: int = 100
    batch_size: int = 128
    keep: str = "best"
    validation_fraction: float | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    _ranges: ClassVar[dict[str, tuple[bool, float, float]]] = {}
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {}

    # Subclasses' part

    def _network(self, d: int, outputs: int, generator: torch.Generator) -> BaselineNetwork:
        """A new network from rows of d numbers to so many outputs."""
        raise NotImplementedError

    def _optimizer(self, network: BaselineNetwork) -> tuple[torch.optim.Optimizer, Any]:
        """The optimiser, and the schedule that is stepped after every epoch, or None."""
        raise NotImplementedError

    def _keep(self, network: BaselineNetwork, data: Standardiser, train: Examples) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    # Fitting

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Train on rows X with targets y.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features)
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : array-like of shape (rows,) or, for regression, (rows, outputs)
            Targets.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the same as giving the row twice, a weight of 0 as leaving it out.
        X_val, y_val : optional
            Validation rows, to choose the epoch by.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._fit(X, y, sample_weight, X_val, y_val)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> None:
        self._check_parameters()
        train, validation, seed = self._training_rows(X, y, sample_weight, X_val, y_val, None)
        result = self._run(train, validation, seed)
        self.history_, self.n_iter_ = result.history, len(result.history["loss"])
        self.best_epoch_ = result.best_epoch

    def _run(self, train: Examples, validation: Examples | None, seed: int) -> Run:
        import torch

        from dgtrees.paper.baselines import training

        data = training.Standardiser(train, self._n_classes)
        generator = torch.Generator().manual_seed(seed)
        network = self._network(train.X.shape[1], data.outputs, generator)
        optimizer, schedule = self._optimizer(network)
        with progress_bar(bool(self.verbose), type(self).__name__) as bars:
            result = training.run(
                network,
                optimizer,
                schedule,
                data.rows(train),
                None if validation is None else data.rows(validation),
                classification=self._n_classes > 0,
                epochs=int(self.max_epochs),
                batch_size=int(self.batch_size),
                keep_best=self.keep == "best",
                generator=generator,
                callbacks=bars,
            )
        self._keep(network, data, train)
        return result

    def _check_parameters(self) -> None:
        for name, (whole, least, below) in (_RANGES | self._ranges).items():
            value = getattr(self, name)
            kind = Integral if whole else Real
            known = isinstance(value, kind) and not isinstance(value, bool) and isfinite(value)
            if not known or not least <= value < below:
                number = "a whole number" if whole else "a number"
                bound = "above 0" if least == ABOVE_0 else f"of at least {least}"
                limit = "" if below == inf else f" and below {below}"
                raise ValueError(f"{name} must be {number} {bound}{limit}, got {value!r}")
        for name, allowed in (_CHOICES | self._choices).items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                )
        share = self.validation_fraction
        if share is not None and not (isinstance(share, Real) and 0.0 < float(share) < 1.0):
            raise ValueError(f"validation_fraction must be between 0 and 1 or None, got {share!r}")
