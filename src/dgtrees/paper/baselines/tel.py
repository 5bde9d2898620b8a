"""TEL: the tree ensemble layer, soft trees whose rows skip most of the tree.

H. Hazimeh, N. Ponomareva, P. Mol, Z. Tan and R. Mazumder, "The tree ensemble layer:
differentiability meets conditional computation", ICML 2020. A node sends a row to both children, in
the shares given by the smooth step of w.x + b, which is exactly 0 or 1 outside a band of width
gamma: the smaller gamma, the fewer leaves a row reaches and the cheaper a prediction is.
The product is soft, so there is no `ObliqueTree`: `trees_` holds NumPy trees of its own kind.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.estimators.target_types import ClassTarget, ValueTarget
from dgtrees.paper.baselines.torch_baseline import ABOVE_0, TorchBaseline
from dgtrees.tables.examples import Examples

if TYPE_CHECKING:
    import torch

__all__ = ["SoftTree", "TELClassifier", "TELRegressor"]

_VALUES_AT_ONCE = 1 << 22


def smooth_step(a: np.ndarray, gamma: float) -> np.ndarray:
    """0 below -gamma / 2, 1 above gamma / 2, and the cubic that joins them smoothly.

    >>> smooth_step(np.array([-1.0, -0.5, 0.0, 0.25, 0.5]), 1.0).tolist()
    [0.0, 0.0, 0.5, 0.84375, 1.0]
    """
    t = np.clip(a / gamma, -0.5, 0.5)
    return -2.0 * t**3 + 1.5 * t + 0.5


@dataclass(frozen=True)
class SoftTree:
    """A finished soft tree: nodes in level order, leaves left to right."""

    weights: np.ndarray
    bias: np.ndarray
    leaf_values: np.ndarray
    gamma: float

    def reach(self, X: np.ndarray) -> list[np.ndarray]:
        """Share of every row that comes to each node, level by level, the leaves' last."""
        right = smooth_step(X @ self.weights.T + self.bias, self.gamma)
        shares = [np.ones((len(X), 1))]
        while shares[-1].shape[1] < len(self.leaf_values):
            first = shares[-1].shape[1] - 1
            here = right[:, first : 2 * first + 1]
            both = np.stack((shares[-1] * (1.0 - here), shares[-1] * here), axis=2)
            shares.append(both.reshape(len(X), -1))
        return shares

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Leaves' values weighed by the shares that reach them, (rows, outputs)."""
        return self.reach(X)[-1] @ self.leaf_values


@dataclass(eq=False, repr=False)
class _TEL(TorchBaseline):
    """Tree ensemble layer.

    Parameters
    ----------
    max_depth : int
        Height of every tree.
    gamma : float, default 1.0
        Width of the band in which a node is soft.
    n_trees : int, default 1
        Trees whose outputs are added up.
    learning_rate : float, default 0.02
        Of Adam, constant.
    node_rate : float, default 0.1
        Nodes learn at this share of the rate: a step moves w.x by all features together, and one
        that crosses the band leaves no gradient behind.
    l2 : float, default 0.0
        Penalty on the squares of all weights.
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
    trees_ : list of SoftTree
        On unscaled features; their outputs are summed.
    history_ : dict of list
        Loss and, with validation rows, the scores on them, one entry per epoch.
    n_iter_, best_epoch_ : int
    """

    _fitted = "trees_"
    _ranges: ClassVar = {
        "gamma": (False, ABOVE_0, inf),
        "n_trees": (True, 1, inf),
        "node_rate": (False, ABOVE_0, inf),
        "l2": (False, 0, inf),
    }

    max_depth: int = 6
    _: KW_ONLY
    gamma: float = 1.0
    n_trees: int = 1
    learning_rate: float = 2e-2
    node_rate: float = 0.1
    l2: float = 0.0

    def _network(self, d: int, outputs: int, generator: torch.Generator) -> Any:
        from dgtrees.paper.baselines.soft_trees import SmoothForest

        return SmoothForest(
            d,
            outputs,
            int(self.max_depth),
            n_trees=int(self.n_trees),
            gamma=float(self.gamma),
            generator=generator,
        )

    def _optimizer(self, network: Any) -> tuple[torch.optim.Optimizer, Any]:
        import torch

        leaves = [tree.leaf_values for tree in network.trees]
        nodes = [p for tree in network.trees for p in tree.layers.parameters()]
        rate = float(self.learning_rate)
        groups: list[dict[str, Any]] = [
            {"params": leaves},
            {"params": nodes, "lr": rate * float(self.node_rate)},
        ]
        # Adam adds weight_decay * w to the gradient, which is that of weight_decay / 2 * w^2.
        decay = 2.0 * float(self.l2)
        return torch.optim.Adam(groups, lr=rate, weight_decay=decay, fused=True), None

    def _keep(self, network: Any, data: Any, train: Examples) -> None:
        trees = []
        for i, tree in enumerate(network.trees):
            # The unscaling of a hard tree with the same nodes and leaves is that of a soft one:
            # the weights a row's leaves have add up to 1. The sum needs the mean target once.
            flat = data.unscale(tree.to_tree())
            values = flat.leaf_values - (data.y_center if i else 0.0)
            trees.append(SoftTree(flat.weights, flat.bias, values, float(self.gamma)))
        self.trees_ = trees

    def _outputs(self, X: Any) -> np.ndarray:
        rows = self._rows_to_predict(X)
        outputs = np.zeros((len(rows), self._outputs_per_leaf))
        for part in self._parts(rows):
            outputs[part] = sum(tree.predict(rows[part]) for tree in self.trees_)
        return outputs

    def _parts(self, rows: np.ndarray) -> list[slice]:
        chunk = max(1, _VALUES_AT_ONCE // len(self.trees_[0].leaf_values))
        return [slice(start, start + chunk) for start in range(0, len(rows), chunk)]

    def mean_leaves_reached(self, X: ArrayLike) -> float:
        """Leaves with a share of a row, all trees together, on average over the rows of X."""
        return self._count_visits(X)[1]

    def flops(self, X: ArrayLike) -> float:
        """Multiply-adds a prediction takes, on average over the rows of X.

        One dot product for every node that a share of the row comes to, and one multiple of the
        outputs for every leaf. A hard tree of the same height takes d * max_depth.
        """
        nodes, leaves = self._count_visits(X)
        tree = self.trees_[0]
        return nodes * tree.weights.shape[1] + leaves * tree.leaf_values.shape[1]

    def _count_visits(self, X: Any) -> tuple[float, float]:
        """Nodes and leaves that a row comes to, on average."""
        rows = self._rows_to_predict(X)
        nodes = leaves = 0
        for part in self._parts(rows):
            for tree in self.trees_:
                *above, last = (int(np.count_nonzero(share)) for share in tree.reach(rows[part]))
                nodes, leaves = nodes + sum(above), leaves + last
        return nodes / len(rows), leaves / len(rows)


class TELClassifier(ClassTarget, _TEL):  # noqa: D101 - the base's, adapted
    __doc__ = (_TEL.__doc__ or "").replace("layer.", "layer for classes.", 1)


class TELRegressor(ValueTarget, _TEL):  # noqa: D101 - the base's, adapted
    __doc__ = (_TEL.__doc__ or "").replace("layer.", "layer for numbers.", 1)
