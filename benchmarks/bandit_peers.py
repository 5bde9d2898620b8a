"""The mixed learner and its peers on labelled streams: held-out and progressive accuracy.

    python -m benchmarks.bandit_peers --data pendigits letter --peers ours linucb --queries 10000

Streams are the training and validation rows of the paper's splits in random order, again in a new
one where they end; held-out rows are the first 10,000 test rows. A record per data set, peer, seed
and checkpoint goes to benchmarks/results/bandit_peers.csv; what is there already is not run again.

Peers see the same orders. LinUCB (alpha .3) and quadratic LinUCB (the same on all columns and
products, at most 200 of these, screened on the first 300 rows, which it answers at random) are
exact; Vowpal Wabbit is run with --squarecb, --regcb, and --squarecb with -q ::, at its own
defaults, on columns standardised by all rows of the stream, which no other peer is given.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.bandit.mixed_policy import MixedPolicy
from dgtrees.paper.baselines.linear_bandit import LinUCB
from dgtrees.paper.baselines.vw import VWBandit
from dgtrees.paper.splits import load_parts

CHECKPOINTS = (1_000, 3_000, 10_000, 30_000, 76_000, 100_000, 300_000)
HELD_OUT = 10_000
RESULTS = Path(__file__).parent / "results" / "bandit_peers.csv"
FIELDS = ("data", "peer", "seed", "queries", "held_out", "progressive", "cpu_seconds")
_PRODUCTS, _WARM_UP = 200, 300


class QuadraticLinUCB:
    """LinUCB on columns and products; standardised and screened by the rows that come first."""

    def __init__(self, n_actions: int, seed: int) -> None:
        self.n_actions = n_actions
        self._inner = LinUCB(n_actions, alpha=0.3, random_state=seed, warm_up=2)
        self._rng = np.random.default_rng(seed)
        self._early: list[tuple[np.ndarray, Any, float]] = []
        self._pairs: np.ndarray | None = None

    def _features(self, X: np.ndarray) -> np.ndarray:
        Z = np.clip((X - self._centre) / self._spread, -5, 5)
        return np.hstack([Z, Z[:, self._pairs[:, 0]] * Z[:, self._pairs[:, 1]]])

    def decide(self, x: np.ndarray) -> Any:
        if self._pairs is None:
            return LinUCB(self.n_actions, random_state=self._rng).decide(x)
        return self._inner.decide(self._features(x[None])[0])

    def learn(self, x: np.ndarray, decision: Any, loss: float) -> None:
        if self._pairs is not None:
            self._inner.learn(self._features(x[None])[0], decision, loss)
            return
        self._early.append((x, decision, loss))
        if len(self._early) == _WARM_UP:
            self._settle()

    def _settle(self) -> None:
        X = np.array([x for x, _, _ in self._early])
        self._centre, spread = X.mean(axis=0), X.std(axis=0)
        self._spread = np.where(spread > 1e-12, spread, 1.0)
        Z = np.clip((X - self._centre) / self._spread, -5, 5)
        first, second = np.triu_indices(X.shape[1])
        losses = np.array([loss for _, _, loss in self._early])
        scores = np.abs((losses - losses.mean()) @ (Z[:, first] * Z[:, second]))
        best = np.sort(np.argsort(-scores)[:_PRODUCTS])
        self._pairs = np.stack([first[best], second[best]], axis=1)
        # Features are standardised already: centre 0, scale 1.
        self._inner._scale.centre = np.zeros(X.shape[1] + len(best))
        self._inner._scale.spread = np.ones(X.shape[1] + len(best))
        self._inner._start(X.shape[1] + len(best) + 1)
        for x, decision, loss in self._early:
            self._inner.learn(self._features(x[None])[0], decision, loss)

    def predict(self, X: np.ndarray) -> np.ndarray:
        if self._pairs is None:
            return np.zeros(len(X), dtype=np.int64)
        return self._inner.predict(self._features(np.asarray(X)))


PEERS: dict[str, Callable[[int, int], Any]] = {
    "ours": lambda actions, seed: MixedPolicy(actions, random_state=seed),
    "linucb": lambda actions, seed: LinUCB(actions, alpha=0.3, random_state=seed),
    "quadratic linucb": QuadraticLinUCB,
    "vw squarecb": lambda actions, seed: VWBandit(actions, "--squarecb", random_state=seed),
    "vw regcb": lambda actions, seed: VWBandit(actions, "--regcb", random_state=seed),
    "vw squarecb -q": lambda actions, seed: VWBandit(
        actions, "--squarecb -q ::", random_state=seed
    ),
}


def stream(name: str, seed: int, queries: int) -> tuple[np.ndarray, ...]:
    """Rows, labels, order, held-out rows and their labels."""
    parts = load_parts(name, 0)
    X = np.concatenate([parts.X_train, parts.X_val]).astype(np.float64)
    classes, y = np.unique(np.concatenate([parts.y_train, parts.y_val]), return_inverse=True)
    X_test, y_test = parts.X_test.astype(np.float64), np.searchsorted(classes, parts.y_test)
    rng, passes = np.random.RandomState(seed), -(-queries // len(X))
    order = np.concatenate([rng.permutation(len(X)) for _ in range(passes)])[:queries]
    return X, y, order, X_test[:HELD_OUT], y_test[:HELD_OUT]


def run(name: str, peer: str, seed: int, queries: int) -> list[dict[str, Any]]:
    """Records of one stream."""
    X, y, order, X_test, y_test = stream(name, seed, queries)
    if peer.startswith("vw"):
        X, X_test = _standardised(X, X), _standardised(X_test, X)
    policy = PEERS[peer](int(y.max()) + 1, seed)
    records, start, lost, spent = [], 0, 0.0, 0.0
    for end in [end for end in CHECKPOINTS if end <= queries]:
        began = time.process_time()
        lost += _play(policy, X, y, order[start:end])
        spent += time.process_time() - began
        hits = np.mean(policy.predict(X_test) == y_test)
        figures = (end, 100 * hits, 100 * (1 - lost / end), spent)
        rounded = [end, *(f"{value:.2f}" for value in figures[1:])]
        records.append(dict(zip(FIELDS, (name, peer, seed, *rounded), strict=True)))
        start = end
    return records


def _standardised(rows: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Rows in deviations from the means of others."""
    spread = by.std(axis=0)
    return (rows - by.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)


def _play(policy: Any, X: np.ndarray, y: np.ndarray, order: np.ndarray) -> float:
    """Decide and learn for rows in order; the sum of losses."""
    if isinstance(policy, MixedPolicy):
        return float(policy._stream(X, y, order, np.zeros(0), "0-1").sum())
    lost = 0.0
    for i in order:
        decision = policy.decide(X[i])
        loss = float(decision.action != y[i])
        policy.learn(X[i], decision, loss)
        lost += loss
    return lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["pendigits", "letter", "satimage", "segment"])
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--queries", type=int, default=10_000)
    given = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    if not RESULTS.exists():
        RESULTS.write_text(",".join(FIELDS) + "\n")
    with RESULTS.open(newline="") as file:
        done = {tuple(line[name] for name in FIELDS[:4]) for line in csv.DictReader(file)}
    last = max(end for end in CHECKPOINTS if end <= given.queries)
    for name in given.data:
        for peer in given.peers:
            for seed in given.seeds:
                if (name, peer, str(seed), str(last)) in done:
                    continue
                records = run(name, peer, seed, given.queries)
                with RESULTS.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                    writer.writerows(
                        record
                        for record in records
                        if (name, peer, str(seed), str(record["queries"])) not in done
                    )
                print(*records[-1].values(), flush=True)


if __name__ == "__main__":
    main()
