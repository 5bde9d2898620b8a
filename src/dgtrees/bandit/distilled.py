"""One hard tree that answers as a policy does: to be read, drawn and exported in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgtrees.bandit.checks import whole_number
from dgtrees.bandit.tree_learner import TreeLearner
from dgtrees.errors import StateError
from dgtrees.learn.distil import distil_tree
from dgtrees.schema import choice

if TYPE_CHECKING:
    from dgtrees.bandit.named_policy import NamedPolicy
    from dgtrees.model.model import Model

__all__ = ["distil_policy"]

_FEWEST, _MOST = 20, 20_000
"""Remembered rows that a tree is made from."""

_check_leaf = choice("constant", "linear")


def distil_policy(policy: NamedPolicy, max_depth: int, leaf: str) -> Model:
    """A model of one tree, learnt from what the policy expects for the rows it remembers."""
    depth = whole_number("max_depth", max_depth, 1, 12)
    _check_leaf(leaf, "leaf")
    with policy._lock:
        learner = policy._need_learner()
        if not isinstance(learner, TreeLearner):
            rows = learner.remembered(_MOST)
            if len(rows) < _FEWEST:
                raise StateError(
                    f"a tree is made from at least {_FEWEST} answers, got {len(rows)}: "
                    "let the policy learn more first"
                )
            expected = learner.expected(rows)
    if isinstance(learner, TreeLearner):
        return policy.model_
    return policy._as_model(distil_tree(rows, expected, depth, leaf, seed=policy._seed % 2**31))
