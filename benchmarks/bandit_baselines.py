"""Other policies for numbered actions, and the settings of theirs that are compared.

Those that are tuned get columns standardised by all rows of the stream (Vowpal Wabbit raw ones,
where these validate better), which `DGTBandit` is not given: so none of them has to answer rows at
random before it knows the scales of columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.bandit.decision import Decision
from dgtrees.paper.baselines.linear_bandit import LinUCB
from dgtrees.paper.baselines.vw import VWBandit

__all__ = ["PEERS", "UNTUNED", "QuadraticLinUCB", "ReadyLinUCB", "make_peer", "settings_of"]

PRODUCTS, SCREENED_BY = 200, 300
_MOST_PAIRED = 40  # columns; of more, `-q ::` takes minutes for 10,000 answers

ALPHAS = (0.1, 0.3, 1.0)
EXPLORERS = ("--squarecb", "--regcb", "--epsilon 0.05", "--softmax --lambda 10", "--bag 5")
RATES = (0.1, 0.5, 2.0)
PEERS = ("linucb", "untuned linucb", "quadratic linucb", "vw", "bayesianbandits")
UNTUNED = "untuned linucb"
"""On rows as they are, of which the first 100 are answered at random and give the scales."""


def settings_of(peer: str, best: dict[str, Any] | None, columns: int) -> list[dict[str, Any]]:
    """What is compared; for a second round, around the best of the first, where there is one."""
    if peer != "vw":
        return [] if best else [{"alpha": alpha} for alpha in ALPHAS]
    if best is None:
        return [
            {"explorer": explorer, "rate": 0.5, "products": False, "standardise": standardise}
            for explorer in EXPLORERS
            for standardise in (True, False)
        ]
    products = (False, True) if columns <= _MOST_PAIRED else (False,)
    found = [best | {"rate": rate, "products": each} for rate in RATES for each in products]
    return [setting for setting in found if setting != best]


def make_peer(peer: str, setting: dict[str, Any], n_actions: int, columns: int, seed: int) -> Any:
    """A policy that knows nothing yet."""
    if peer == UNTUNED:
        return LinUCB(n_actions, alpha=0.3, random_state=seed)
    if peer == "linucb":
        return ReadyLinUCB(n_actions, columns, setting["alpha"], seed)
    if peer == "quadratic linucb":
        return QuadraticLinUCB(n_actions, columns, setting["alpha"], seed)
    if peer == "bayesianbandits":
        return BayesianBandit(n_actions, setting["alpha"], seed)
    crossed = " -q ::" if setting["products"] else ""
    options = f"{setting['explorer']} -l {setting['rate']}{crossed}"
    return VWBandit(n_actions, options, random_state=seed)


class ReadyLinUCB(LinUCB):
    """LinUCB on rows that are standardised already: by its bounds from the first row on."""

    def __init__(self, n_actions: int, columns: int, alpha: float, seed: int) -> None:
        super().__init__(n_actions, alpha=alpha, random_state=seed)
        self._scale.centre, self._scale.spread = np.zeros(columns), np.ones(columns)
        self._start(columns + 1)


class QuadraticLinUCB:
    """LinUCB that has products of columns too, from the row on that screens them.

    Where all products are more than `PRODUCTS`, those are kept that go best with the loss of the
    action taken, in the first answers; until then the policy is LinUCB. Columns are cut at 5
    deviations before they are multiplied.
    """

    def __init__(self, n_actions: int, columns: int, alpha: float, seed: int) -> None:
        self.n_actions, self.alpha, self.seed = n_actions, alpha, seed
        self._policy = ReadyLinUCB(n_actions, columns, alpha, seed)
        self._pairs = np.zeros((0, 2), dtype=np.int64)
        self._early: list[tuple[np.ndarray, Decision, float]] = []

    def _features(self, X: np.ndarray) -> np.ndarray:
        if not len(self._pairs):
            return X
        Z = np.clip(X, -5, 5)
        return np.hstack([Z, Z[:, self._pairs[:, 0]] * Z[:, self._pairs[:, 1]]])

    def decide(self, x: np.ndarray) -> Decision:
        return self._policy.decide(self._features(x[None])[0])

    def learn(self, x: np.ndarray, decision: Decision, loss: float) -> None:
        self._policy.learn(self._features(x[None])[0], decision, loss)
        if not len(self._pairs):
            self._early.append((x, decision, loss))
            if len(self._early) == SCREENED_BY:
                self._screen()

    def _screen(self) -> None:
        Z = np.clip([x for x, _, _ in self._early], -5, 5)
        first, second = np.triu_indices(Z.shape[1])
        losses = np.array([loss for _, _, loss in self._early])
        actions = np.array([decision.action for _, decision, _ in self._early])
        products = Z[:, first] * Z[:, second]
        products -= products.mean(axis=0)
        scores = np.zeros(len(first))
        for action in range(self.n_actions):
            taken = actions == action
            if taken.any():
                scores += np.abs((losses[taken] - losses[taken].mean()) @ products[taken])
        best = np.sort(np.argsort(-scores, kind="stable")[:PRODUCTS])
        self._pairs = np.stack([first[best], second[best]], axis=1)
        wide = Z.shape[1] + len(best)
        self._policy = ReadyLinUCB(self.n_actions, wide, self.alpha, self.seed)
        for x, decision, loss in self._early:
            self._policy.learn(self._features(x[None])[0], decision, loss)
        self._early = []

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._policy.predict(self._features(np.asarray(X)))


class BayesianBandit:
    """Thompson sampling of the package bayesianbandits: a normal regression per action.

    `alpha` is the deviation of the noise that it is told, and so the width of its draws.
    """

    def __init__(self, n_actions: int, alpha: float, seed: int) -> None:
        from bayesianbandits import Arm, ContextualAgent, NormalRegressor, ThompsonSampling

        precision = alpha**-2
        arms = [Arm(k, learner=NormalRegressor(precision, precision)) for k in range(n_actions)]
        self._agent: Any = ContextualAgent(arms, ThompsonSampling(), random_seed=seed)

    def decide(self, x: np.ndarray) -> Decision:
        (action,) = self._agent.pull(np.append(x, 1.0)[None])
        return Decision(int(action), 1.0)  # nobody asks how likely it was

    def learn(self, x: np.ndarray, decision: Decision, loss: float) -> None:
        self._agent.select_for_update(decision.action)
        self._agent.update(np.append(x, 1.0)[None], np.array([-loss]))

    def predict(self, X: np.ndarray) -> np.ndarray:
        rows = np.column_stack([X, np.ones(len(X))])
        means = [np.asarray(arm.learner.predict(rows)) for arm in self._agent.arms]
        return np.argmax(np.stack(means, axis=1), axis=1)
