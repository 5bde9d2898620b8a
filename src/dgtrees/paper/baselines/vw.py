"""Vowpal Wabbit behind decide, learn and predict. Needs `pip install dgtrees[vw]`.

Two of its habits matter here. Features with bare integers for names are not hashed but taken as
indices, and under `--cb_explore` neighbouring ones then share weights: ours are called f0, f1, ...
And an example that was parsed for prediction does not become a labelled one by setting its label:
decide and learn each hand over a line of text of their own.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.decision import Decision
from dgtrees.paper.baselines.bandit_checks import (
    check_feedback,
    check_n_actions,
    check_row,
    check_rows,
)

__all__ = ["VWBandit"]

_EXPLORERS = ("epsilon", "first", "bag", "cover", "softmax", "squarecb", "regcb")


class VWBandit:
    """A linear policy of Vowpal Wabbit's `--cb_explore`.

    Parameters
    ----------
    n_actions : int
    options : str, default ""
        Further command-line options, say ``"--first 2000"`` or ``"-l 0.01 --epsilon 0.5"``, the
        paper's setting. Without an explorer among them, ``--squarecb`` is used; the learning
        rate and everything else is Vowpal Wabbit's own default.
    random_state : int, optional
        Seed of the actions drawn here and, unless options have one, of Vowpal Wabbit's.

    Features are handed over as they are: its updates are normalised by the scale of each. Where
    they are standardised before, ``--first`` gained most and ``--squarecb`` lost on Covertype.

    Examples
    --------
    >>> policy = VWBandit(3, random_state=0)  # doctest: +SKIP
    >>> decision = policy.decide([0.5, 1.0])  # doctest: +SKIP
    >>> policy.learn([0.5, 1.0], decision, loss=0.0)  # doctest: +SKIP
    """

    def __init__(
        self,
        n_actions: int,
        options: str = "",
        *,
        random_state: int | np.random.Generator | None = None,
    ):
        self.n_actions = check_n_actions(n_actions)
        self.options = options
        self.random_state = random_state
        given = set(re.findall(r"--([a-z_]+)", options))
        own = sorted(name for name in given if name.startswith("cb") and name != "cb_type")
        if own:
            raise ValueError(
                f"options must leave --cb_explore {self.n_actions} to this class, got --{own[0]}: "
                "name only the explorer and its settings"
            )
        words = ["--quiet", f"--cb_explore {self.n_actions}"]
        if not given.intersection(_EXPLORERS):
            words.append("--squarecb")
        if "random_seed" not in given and isinstance(random_state, (int, np.integer)):
            words.append(f"--random_seed {random_state}")
        self.command_ = " ".join([*words, options]).strip()
        self._rng = np.random.default_rng(random_state)
        self._columns: int | None = None
        self._workspace = _workspace(self.command_)

    def decide(self, x: ArrayLike) -> Decision:
        """The action for one row x (d,), with the probability it was chosen with."""
        x = check_row(x, self._columns)
        chances = self._chances(x)
        # Drawn here and not there: the probability is then exact in float64.
        action = int(np.searchsorted(np.cumsum(chances), self._rng.random(), side="right"))
        action = min(action, int(np.flatnonzero(chances)[-1]))
        return Decision(action, float(chances[action]))

    def learn(self, x: ArrayLike, decision: Decision, loss: float) -> None:
        """Take in the loss, from 0 to 1, of a decision; late and in any order will do."""
        x = check_row(x, self._columns)
        action, probability, loss = check_feedback(decision, loss, self.n_actions)
        self._columns = len(x)
        self._workspace.learn(f"{action + 1}:{loss!r}:{probability!r} {_text(x)}")

    def action_probabilities(self, X: ArrayLike) -> np.ndarray:
        """How likely each action is now, explorations included, shape (rows, n_actions)."""
        X = check_rows(X, self._columns)
        return np.array([self._chances(x) for x in X]).reshape(len(X), self.n_actions)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most likely actions (rows,): the greedy ones, for every explorer."""
        return np.argmax(self.action_probabilities(X), axis=1)

    def close(self) -> None:
        """Let go of Vowpal Wabbit's memory, and write what options like -f ask for."""
        self._workspace.finish()

    def _chances(self, x: np.ndarray) -> np.ndarray:
        chances = np.asarray(self._workspace.predict(_text(x)), dtype=np.float64)
        return chances / chances.sum()


def _text(x: np.ndarray) -> str:
    """A row as Vowpal Wabbit reads it; zeros say nothing there and are left out."""
    return "| " + " ".join([f"f{j}:{value:.9g}" for j, value in enumerate(x.tolist()) if value])


def _workspace(command: str) -> Any:
    try:
        from vowpalwabbit import Workspace
    except ImportError as error:
        raise ImportError(
            "VWBandit needs the package vowpalwabbit, which is not installed: "
            "pip install 'dgtrees[vw]'"
        ) from error
    try:
        return Workspace(command)
    except RuntimeError as error:
        raise ValueError(f"options must be Vowpal Wabbit's, got {command!r}: {error}") from error
