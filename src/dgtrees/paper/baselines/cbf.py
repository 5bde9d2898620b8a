"""The contextual bandit forest: axis-aligned trees that grow by eliminating variables.

Feraud, Allesiardo, Urvoy, Clerot: Random forest for the contextual bandit problem, AISTATS 2016.

Every tree asks yes/no questions ("variables") about single features. An open node plays all
actions in turn and drops variables whose choice between two actions is worth less than the best
variable's, by confidence bounds; when one is left the node splits on it. At a tree's greatest
depth actions are dropped likewise until one is left. Trees differ in the variables that their
nodes may use, in depth and in the slack epsilon; the action that most trees name is played, and
all of them learn from it.

"The original's" settings below are those of docs/baselines_cbf.md, which names their source.

This module cuts features into bins and has the interface; the trees are `_forest_bandit.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.decision import Decision
from dgtrees.paper.baselines import _forest_bandit
from dgtrees.paper.baselines._forest_bandit import Forest
from dgtrees.paper.baselines.bandit_checks import (
    check_feedback,
    check_n_actions,
    check_row,
    check_rows,
)

__all__ = ["ContextualBanditForest", "bin_edges", "one_hot_variables"]


class ContextualBanditForest:
    """A forest of axis-aligned trees that vote on the action.

    Parameters
    ----------
    n_actions : int
    n_trees : int, default 25
        The original has 100; the gradient-trees paper compares with 25.
    max_depth : int or (int, int), default (10, 18)
        Greatest depth; of a pair, each tree draws its own. The original draws from 10 to 18.
    epsilon : float or (float, float), default (0.4, 0.8)
        How much worse than the best a variable or action may be and still be the one left: more
        means earlier splits on less evidence. Of a pair, each tree draws its own. The original
        draws from 0.4 to 0.8.
    delta : float, default 0.05
        Chance of a wrong elimination that the bounds are made for, if `narrowing` is 1. The
        original's.
    narrowing : float, default 4.0
        Bounds are divided by this. The theory has 1, the original's experiments 4.
    max_features : int or float, optional
        Variables that a node may choose from, drawn for each anew: a number, or a share of all.
        By default 0.8 of them and at most 200: on MNIST, with 1,378 variables, more of them
        gained nothing. The original takes 75 of 94.
    n_bins : int, default 5
        Bins of a feature, at quantiles; each is one variable. The original has 5.
    edges : sequence of arrays, optional
        For every feature the increasing upper edges of its bins but the last, which has none.
        By default they are learnt from the first rows.
    warm_up : int, default 500
        Rows answered at random that settle the edges, kept, and then learnt from; none where
        edges are given.
    aggregation : {"vote", "mean"}
        `predict` takes the action that most trees hold for the best (original), or the one of
        best mean reward over the trees.
    max_nodes : int, default 8191
        Nodes of a tree; a tree that has them grows no more.
    memory : float, default 256.0
        Megabytes for the statistics of open nodes. Where they are used up, further nodes wait
        for others to split.
    random_state : int, optional

    `decide` takes turns in the nodes and is deterministic but for ties: its probability is 1 over
    the number of tied actions, and a log of it says nothing about other policies. Memory does not
    grow with the number of queries.

    Examples
    --------
    >>> policy = ContextualBanditForest(2, n_trees=5, max_depth=2, warm_up=50, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> for x in rng.normal(size=(2000, 1)):
    ...     decision = policy.decide(x)
    ...     policy.learn(x, decision, loss=float(decision.action != (x[0] > 0)))
    >>> policy.predict([[-1.0], [1.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        n_actions: int,
        n_trees: int = 25,
        max_depth: int | tuple[int, int] = (10, 18),
        *,
        epsilon: float | tuple[float, float] = (0.4, 0.8),
        delta: float = 0.05,
        narrowing: float = 4.0,
        max_features: int | float | None = None,
        n_bins: int = 5,
        edges: Sequence[Any] | None = None,
        warm_up: int = 500,
        aggregation: str = "vote",
        max_nodes: int = 8191,
        memory: float = 256.0,
        random_state: int | np.random.Generator | None = None,
    ):
        self.n_actions = check_n_actions(n_actions)
        self.n_trees = _check_whole("n_trees", n_trees, 1)
        self.max_depth = _check_pair("max_depth", max_depth, whole=True)
        self.epsilon = _check_pair("epsilon", epsilon, whole=False)
        if not 0 < delta < 1:
            raise ValueError(f"delta must be between 0 and 1, got {delta!r}: try 0.05")
        if not 0 < narrowing < np.inf:
            raise ValueError(f"narrowing must be above 0, got {narrowing!r}: try 4")
        share = isinstance(max_features, float)
        if max_features is not None and not (
            0 < max_features <= 1 if share else _is_whole(max_features, 1)
        ):
            raise ValueError(
                "max_features must be a whole number from 1 or a share above 0 and at most 1, "
                f"got {max_features!r}: try 0.8"
            )
        if aggregation not in ("vote", "mean"):
            raise ValueError(
                f"aggregation must be 'vote' or 'mean', got {aggregation!r}: 'vote' is the original"
            )
        if not 0 < memory < np.inf:
            raise ValueError(f"memory must be above 0 megabytes, got {memory!r}: try 256")
        self.delta, self.narrowing, self.memory = float(delta), float(narrowing), float(memory)
        self.max_features = max_features
        self.n_bins = _check_whole("n_bins", n_bins, 2)
        self.warm_up = _check_whole("warm_up", warm_up, 2)
        self.max_nodes = _check_whole("max_nodes", max_nodes, 1)
        self.aggregation = aggregation
        self.random_state = random_state
        self._rng = np.random.default_rng(random_state)
        self._early: list[tuple[np.ndarray, int, float]] = []
        self._columns: int | None = None
        self._forest: Forest | None = None
        self.edges_: list[np.ndarray] | None = None
        if edges is not None:
            self._columns = len(edges)
            self._start([_check_edges(j, e) for j, e in enumerate(edges)])

    def decide(self, x: ArrayLike) -> Decision:
        """The action for one row x (d,), with the probability it was chosen with."""
        x = check_row(x, self._columns)
        forest = self._forest
        if forest is None:
            return Decision(int(self._rng.integers(self.n_actions)), 1.0 / self.n_actions)
        votes = self._count_votes(forest, x, forest.nodes)
        tied = np.flatnonzero(votes == votes.max())
        if len(tied) == 1:
            return Decision(int(tied[0]), 1.0)
        return Decision(int(tied[self._rng.integers(len(tied))]), 1.0 / len(tied))

    def learn(self, x: ArrayLike, decision: Decision, loss: float) -> None:
        """Take in the loss, from 0 to 1, of a decision; late and in any order will do."""
        x = check_row(x, self._columns)
        action, _, loss = check_feedback(decision, loss, self.n_actions)
        self._columns = len(x)
        if self._forest is not None:
            self._update(x, action, 1.0 - loss)
            return
        self._early.append((x.copy(), action, 1.0 - loss))
        if len(self._early) >= self.warm_up:
            early = np.array([row for row, _, _ in self._early])
            self._start([bin_edges(column, self.n_bins) for column in early.T])
            for row, action, reward in self._early:
                self._update(row, action, reward)
            self._early = []

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The actions (rows,) that seem best; 0 before the warm-up is over."""
        X = check_rows(X, self._columns)
        forest = self._forest
        if forest is None:
            return np.zeros(len(X), dtype=np.int64)
        votes = np.zeros((len(X), self.n_actions), dtype=np.int64)
        means = np.zeros((len(X), self.n_actions))
        _forest_bandit.mean_rewards(
            X, forest.feature, forest.low, forest.high, forest.nodes, forest.totals, forest.alive,
            forest.bits.copy(), votes, means,
        )  # fmt: skip
        if self.aggregation == "mean":
            return np.argmax(means, axis=1)
        # Means decide between equally many votes: their sum is at most the number of trees.
        return np.argmax(votes + means / (self.n_trees + 1.0), axis=1)

    def action_probabilities(self, X: ArrayLike) -> np.ndarray:
        """With which `decide` would now draw every action, shape (rows, n_actions)."""
        X = check_rows(X, self._columns)
        if self._forest is None:
            return np.full((len(X), self.n_actions), 1.0 / self.n_actions)
        # On a copy: nodes remember whose turn it was.
        votes = [self._count_votes(self._forest, x, self._forest.nodes.copy()) for x in X]
        tied = np.array([v == v.max() for v in votes], dtype=float).reshape(len(X), self.n_actions)
        return tied / tied.sum(axis=1, keepdims=True)

    def _count_votes(self, forest: Forest, x: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """How many trees propose each action; their nodes take turns."""
        votes = np.zeros(self.n_actions, dtype=np.int64)
        _forest_bandit.propose(
            x, forest.feature, forest.low, forest.high, nodes, forest.totals, forest.alive,
            forest.bits, votes,
        )  # fmt: skip
        return votes

    @property
    def n_nodes_(self) -> np.ndarray:
        """Nodes of every tree so far, leaves included."""
        if self._forest is None:
            return np.ones(self.n_trees, dtype=np.int64)
        return self._forest.n_nodes.copy()

    def _start(self, edges: list[np.ndarray]) -> None:
        variables = one_hot_variables(edges)
        count = len(variables[0])
        if not count:
            raise ValueError(
                "a feature must take two values at least, got constant ones only in the warm-up: "
                "give edges, or a longer warm_up"
            )
        if self.max_features is None:
            subset = min(200, max(1, round(0.8 * count)))
        elif isinstance(self.max_features, float):
            subset = max(1, round(self.max_features * count))
        else:
            subset = min(count, int(self.max_features))
        # More slots than leaves would never be taken.
        room = int(self.memory * 2**20) // _forest_bandit.slot_bytes(self.n_actions, subset)
        leaves = self.n_trees * (self.max_nodes + 1) // 2
        low, high = self.max_depth
        self._forest = _forest_bandit.new_forest(
            variables,
            self.n_actions,
            self._rng.integers(low, high + 1, size=self.n_trees),
            self._rng.uniform(*self.epsilon, size=self.n_trees),
            subset=subset,
            max_nodes=self.max_nodes,
            n_slots=max(1, min(room, leaves)),
            seed=int(self._rng.integers(2**63)),
        )
        self.edges_ = edges

    def _update(self, x: np.ndarray, action: int, reward: float) -> None:
        assert self._forest is not None
        _forest_bandit.learn(x, action, reward, self.delta, self.narrowing, *self._forest)


def bin_edges(column: np.ndarray, n_bins: int) -> np.ndarray:
    """Upper edges of at most n_bins bins of about equally many values; the last bin has none.

    Values that are often the same make fewer bins. An edge at the greatest value would have
    nothing above it and moves to the next value below.

    >>> bin_edges(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), 3).tolist()
    [0.0]
    >>> bin_edges(np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 3).tolist()
    [0.0]
    """
    values = np.unique(column)
    if len(values) < 2:
        return np.empty(0)
    shares = np.arange(1, n_bins) / n_bins
    edges = np.unique(np.quantile(column, shares, method="inverted_cdf"))
    return np.unique(np.minimum(edges, values[-2]))


def one_hot_variables(edges: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Feature, lower and upper bound of one variable per bin; two bins need only one.

    >>> feature, low, high = one_hot_variables([np.array([0.5]), np.array([1.0, 2.0])])
    >>> feature.tolist(), low.tolist(), high.tolist()
    ([0, 1, 1, 1], [0.5, -inf, 1.0, 2.0], [inf, 1.0, 2.0, inf])
    """
    feature, low, high = [], [], []
    for j, own in enumerate(edges):
        bounds = [-np.inf, *own, np.inf]
        first = {0: 1, 1: 1}.get(len(own), 0)
        for b in range(first, len(bounds) - 1):
            feature.append(j)
            low.append(bounds[b])
            high.append(bounds[b + 1])
    return np.array(feature, dtype=np.int64), np.array(low), np.array(high)


def _check_edges(j: int, edges: Any) -> np.ndarray:
    edges = np.asarray(edges, dtype=np.float64)
    if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ValueError(
            f"edges must be finite and increasing, got {edges.tolist()} for feature {j}: "
            "sort them and leave out repeated ones"
        )
    return edges


def _is_whole(value: Any, least: int) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and value >= least


def _check_whole(name: str, value: Any, least: int) -> int:
    if not _is_whole(value, least):
        raise ValueError(
            f"{name} must be a whole number of at least {least}, got {value!r}: "
            f"give {least} or more"
        )
    return int(value)


def _check_pair(name: str, value: Any, *, whole: bool) -> tuple[Any, Any]:
    """One value or a pair as a pair from low to high."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    right = len(pair) == 2 and all(
        _is_whole(v, 1) if whole else isinstance(v, (int, float, np.number)) and 0 <= v < np.inf
        for v in pair
    )
    if not right or pair[0] > pair[1]:
        kind = "a whole number of at least 1" if whole else "a number of at least 0"
        raise ValueError(
            f"{name} must be {kind}, or a pair of them from low to high, got {value!r}: "
            "leave it out for the original's"
        )
    return pair
