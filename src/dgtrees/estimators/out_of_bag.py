"""Members of a forest together, and what those say of a row that have not seen it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgtrees.learn.members import Member
from dgtrees.tables.examples import Examples, bootstrap
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["ask_unseen", "rows_of_leaves", "together", "tree_seed"]


def tree_seed(seed: int, number: int) -> int:
    """Seed of one tree, whichever worker trains it and however many others there are."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


def together(
    members: Sequence[Member], combine: str
) -> tuple[list[ObliqueTree], str, ObliqueTree | None]:
    """Trees, how they are combined, and what is added to them.

    Members beside linear functions become a sum: of trees that have their share of the mean, and of
    the mean linear function.
    """
    trees = [member.tree for member in members]
    lines = [member.linear for member in members if member.linear is not None]
    if not lines:
        return trees, combine, None
    outputs, d = lines[0].weights.shape
    share = np.full(outputs, 1.0 / len(trees))
    slopes = np.sum([line.weights for line in lines], axis=0) * share[:, None]
    bias = np.sum([line.bias for line in lines], axis=0) * share
    none = np.zeros(0, dtype=np.int32)
    base = ObliqueTree(np.zeros((0, d)), np.zeros(0), none, none, bias[None], slopes[None])
    parts = [tree.on_scaled_outputs(np.zeros(outputs), share) for tree in trees]
    return parts, "sum", base


def rows_of_leaves(tree: ObliqueTree, train: Examples) -> np.ndarray:
    """Training rows of every leaf, by their weight."""
    return np.bincount(tree.apply(train.X), weights=train.weight, minlength=tree.n_leaves)


def ask_unseen(
    members: Sequence[Member],
    forest: ObliqueForest,
    train: Examples,
    share: float,
    seeds: Sequence[int],
    bounds: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, both (rows, outputs), of members that have not seen a row.

    Parameters
    ----------
    forest : ObliqueForest
        Of the members' trees; says what outputs of a tree mean.
    share : float
        Share of the rows that a member has drawn, by the seed that it has in `seeds`.
    bounds : pair of ndarray, optional
        Between which sums of a tree and a linear function are kept.

    Returns
    -------
    mean : ndarray
        NaN where all have seen the row.
    spread : ndarray
        Deviation of the trees, without linear functions; NaN where fewer than two have not seen
        the row.
    """
    shape = (len(train.X), forest.n_outputs)
    # Welford's running mean and sum of squares: targets may be far from 0.
    mean, squares, asked = np.zeros(shape), np.zeros(shape), np.zeros((shape[0], 1))
    line = np.zeros(shape)
    for member, seed in zip(members, seeds, strict=False):
        unseen = np.flatnonzero(bootstrap(train.weight, share, seed) == 0)
        X = train.X[unseen]
        outputs = forest.said_by(member.tree, X)
        asked[unseen] += 1
        step = outputs - mean[unseen]
        mean[unseen] += step / asked[unseen]
        squares[unseen] += step * (outputs - mean[unseen])
        if member.linear is not None:
            line[unseen] += (member.linear.predict(X) - line[unseen]) / asked[unseen]
    if any(member.linear is not None for member in members):
        mean += line
        if bounds is not None:
            mean = np.clip(mean, *bounds)
    mean[asked[:, 0] == 0] = np.nan
    squares[asked[:, 0] < 2] = np.nan
    return mean, np.sqrt(squares / np.maximum(asked - 1, 1))
