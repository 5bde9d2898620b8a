"""LCN: locally constant networks, oblique trees from the derivatives of ReLU networks.

G.-H. Lee and T. S. Jaakkola, "Oblique decision trees from derivatives of ReLU networks", ICLR 2020.
A chain of `max_depth` ReLU units yields a complete oblique tree whose 2^h - 1 splits share the
units' h weight vectors. Ends in an `ObliqueTree`: the hidden layers belong to the function from a
region's derivatives to its output, so they fill the leaves and leave every split linear.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dgtrees.estimators.delegation import TreeEstimator
from dgtrees.estimators.target_types import ClassTarget, ValueTarget
from dgtrees.paper.baselines.torch_baseline import ABOVE_0, TorchBaseline
from dgtrees.tables.examples import Examples

if TYPE_CHECKING:
    import torch

__all__ = ["LCNClassifier", "LCNRegressor"]

_PSEUDO_ROWS = 1.0
"""Rows' worth of the network's output in a leaf of the table."""


@dataclass(eq=False, repr=False)
class _LCN(TorchBaseline, TreeEstimator):
    """Locally constant network.

    Parameters
    ----------
    max_depth : int
        Units in the chain, and height of the tree.
    optimizer : {"adam", "sgd"}, default "adam"
        Adam in its AMSGrad form at a constant rate, or SGD with Nesterov momentum 0.9 whose rate
        halves every 20 epochs.
    learning_rate, unit_rate : float, default 0.001 and 10.0
        Rate of the network from derivatives to output, and how many times faster the units learn:
        a leaf's output must not change faster than the rows that come to it.
    dropout : float, default 0.0
        Share of a unit's weights that is left out, row by row, while training.
    leaves : {"network", "table"}, default "network"
        What the leaves hold at the end: that network's outputs, or a table of the best outputs for
        the training rows of every leaf, drawn a little towards the network's.
    hidden_layers, hidden_width : int, default 1 and 256
        Layers of the network from derivatives to output; 0 for a linear function.
    anneal : bool, default True
        Train with a mixture that goes from softplus to ReLU; else with ReLU from the start.
    max_epochs, batch_size : int, default 100 and 128
    keep : {"best", "last"}, default "best"
        With validation rows, keep the epoch that did best on them or the last one.
    validation_fraction : float, optional
        Share of the rows to hold out where no X_val is given.
    random_state : int, RandomState or None
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree on unscaled features, without leaves that no training row reaches.
    history_ : dict of list
        Loss and, with validation rows, the hard tree's scores on them, one entry per epoch.
    n_iter_, best_epoch_ : int
    """

    _ranges: ClassVar = {
        "unit_rate": (False, ABOVE_0, inf),
        "dropout": (False, 0, 1),
        "hidden_layers": (True, 0, inf),
        "hidden_width": (True, 1, inf),
    }
    _choices: ClassVar = {
        "optimizer": ("adam", "sgd"),
        "leaves": ("network", "table"),
    }

    max_depth: int = 8
    _: KW_ONLY
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    unit_rate: float = 10.0
    dropout: float = 0.0
    leaves: str = "network"
    hidden_layers: int = 1
    hidden_width: int = 256
    anneal: bool = True

    def _network(self, d: int, outputs: int, generator: torch.Generator) -> Any:
        from dgtrees.paper.baselines.lcn_network import LocallyConstantNetwork

        return LocallyConstantNetwork(
            d,
            outputs,
            int(self.max_depth),
            hidden_layers=int(self.hidden_layers),
            hidden_width=int(self.hidden_width),
            dropout=float(self.dropout),
            anneal=bool(self.anneal),
            generator=generator,
        )

    def _optimizer(self, network: Any) -> tuple[torch.optim.Optimizer, Any]:
        import torch

        rate = float(self.learning_rate)
        groups: list[dict[str, Any]] = [
            {"params": list(network.output.parameters())},
            {"params": network.unit_parameters(), "lr": rate * float(self.unit_rate)},
        ]
        if self.optimizer == "adam":
            return torch.optim.Adam(groups, lr=rate, amsgrad=True, fused=True), None
        sgd = torch.optim.SGD(groups, lr=rate, momentum=0.9, nesterov=True)
        return sgd, torch.optim.lr_scheduler.StepLR(sgd, step_size=20, gamma=0.5)

    def _keep(self, network: Any, data: Any, train: Examples) -> None:
        tree = data.unscale(network.harden()).prune(np.asarray(train.X))
        if self.leaves == "table":
            from dgtrees.learn.refine import refit_leaves

            classes = self._n_classes > 0
            target = np.eye(self._n_classes)[train.y] if classes else train.y
            tree = refit_leaves(tree, train.X, target, train.weight, _PSEUDO_ROWS, classes)
        self.model_ = self._finished((tree,))


class LCNClassifier(ClassTarget, _LCN):  # noqa: D101 - the base's, adapted
    __doc__ = (_LCN.__doc__ or "").replace("network.", "network for classes.", 1)


class LCNRegressor(ValueTarget, _LCN):  # noqa: D101 - the base's, adapted
    __doc__ = (_LCN.__doc__ or "").replace("network.", "network for numbers.", 1)
