"""PAT: a probabilistic tree whose decisions are annealed until they are thresholded.

The paper's baseline for what hardening costs: sigmoid nodes, the product of decisions along a path,
a soft-max over the leaves' products whose scale grows while training. Only at the end does it
become a tree, by sending every row to one side of each node; `soft_loss_` and `hard_loss_` tell
what that cost.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dgtrees.estimators.delegation import TreeEstimator
from dgtrees.estimators.target_types import ClassTarget, ValueTarget
from dgtrees.paper.baselines.torch_baseline import ABOVE_0, TorchBaseline
from dgtrees.tables.examples import Examples

if TYPE_CHECKING:
    import torch

__all__ = ["PATClassifier", "PATRegressor"]


@dataclass(eq=False, repr=False)
class _PAT(TorchBaseline, TreeEstimator):
    """Probabilistic tree with annealing.

    Parameters
    ----------
    max_depth : int
        Height of the tree.
    scale_start, scale_stop : float, default 1.0 and 100.0
        Scale of the soft-max over leaves in the first and in the last epoch.
    schedule : {"log", "linear"}, default "log"
        How the scale grows in between: by a factor or by an amount each epoch.
    learning_rate, momentum : float, default 0.01 and 0.0
        Of RMSprop; the rate falls along a cosine.
    max_epochs, batch_size : int, default 100 and 128
    keep : {"best", "last"}, default "best"
        With validation rows, keep the epoch whose hard tree did best on them or the last one.
    validation_fraction : float, optional
        Share of the rows to hold out where no X_val is given.
    random_state : int, RandomState or None
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    tree_ : ObliqueTree
        The hard tree, on unscaled features.
    soft_loss_, hard_loss_ : float
        Mean training loss (cross-entropy, or squared error of standardised targets) of the soft
        tree just before hardening, and of the hard one.
    history_ : dict of list
        Loss and, with validation rows, the hard tree's scores on them, one entry per epoch.
    n_iter_, best_epoch_ : int
    """

    _ranges: ClassVar = {
        "scale_start": (False, ABOVE_0, float("inf")),
        "scale_stop": (False, ABOVE_0, float("inf")),
        "momentum": (False, 0, 1),
    }
    _choices: ClassVar = {"schedule": ("log", "linear")}

    max_depth: int = 6
    _: KW_ONLY
    scale_start: float = 1.0
    scale_stop: float = 100.0
    schedule: str = "log"
    learning_rate: float = 1e-2
    momentum: float = 0.0

    def _network(self, d: int, outputs: int, generator: torch.Generator) -> Any:
        from dgtrees.paper.baselines.soft_trees import AnnealedTree

        return AnnealedTree(
            d,
            outputs,
            int(self.max_depth),
            start=float(self.scale_start),
            stop=float(self.scale_stop),
            schedule=self.schedule,
            generator=generator,
        )

    def _optimizer(self, network: Any) -> tuple[torch.optim.Optimizer, Any]:
        import torch

        rate, momentum = float(self.learning_rate), float(self.momentum)
        optimizer = torch.optim.RMSprop(network.parameters(), lr=rate, momentum=momentum)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, int(self.max_epochs))
        return optimizer, cosine

    def _keep(self, network: Any, data: Any, train: Examples) -> None:
        from dgtrees.paper.baselines.soft_trees import losses_before_and_after

        rows = data.rows(train)
        self.soft_loss_, self.hard_loss_ = losses_before_and_after(
            network, rows, self._n_classes > 0
        )
        tree = data.unscale(network.to_tree()).prune(np.asarray(train.X))
        self.model_ = self._finished((tree,))


class PATClassifier(ClassTarget, _PAT):  # noqa: D101 - the base's, adapted
    __doc__ = (_PAT.__doc__ or "").replace("annealing.", "annealing, for classes.", 1)


class PATRegressor(ValueTarget, _PAT):  # noqa: D101 - the base's, adapted
    __doc__ = (_PAT.__doc__ or "").replace("annealing.", "annealing, for numbers.", 1)
