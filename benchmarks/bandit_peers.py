"""DGTBandit's learner and its peers on labelled streams: held-out accuracy, and while learning.

    python -m benchmarks.bandit_peers --data pendigits letter --peers ours linucb --queries 10000
    python -m benchmarks.bandit_peers --table

Streams are the training and validation rows of the paper's splits in random order, again in a new
one where they end; held-out rows are the first 10,000 test rows. A record per data set, peer, seed
and checkpoint goes to benchmarks/results/bandit_peers.csv; what is there already is not run again.

Ours has one setting for all data. Every other policy but one is tuned per data set, with seed 0: on
a stream of training rows, by the mean of its accuracy on validation rows and of that while
learning, after 10,000 answers (or --tune-queries). What was tried goes to
benchmarks/results/bandit_settings.csv; which policies there are, and what of theirs is tuned, is in
`benchmarks.bandit_baselines`.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bandit_baselines import PEERS, UNTUNED, make_peer, settings_of
from benchmarks.bandit_peers_table import write_table
from dgtrees.bandit.mixed_policy import MixedPolicy
from dgtrees.paper.splits import load_parts

CHECKPOINTS = (1_000, 3_000, 10_000, 30_000, 76_000, 100_000, 300_000)
HELD_OUT = 10_000
FOLDER = Path(__file__).parent / "results"
RESULTS, SETTINGS = FOLDER / "bandit_peers.csv", FOLDER / "bandit_settings.csv"
FIELDS = ("data", "peer", "seed", "queries", "held_out", "progressive", "cpu_seconds")
TUNED = ("data", "peer", "setting", "queries", "held_out", "progressive")


class Stream:
    """Rows in the order in which they come, and rows that are held out."""

    def __init__(self, name: str, seed: int, queries: int, tuning: bool = False) -> None:
        parts = load_parts(name, 0)
        rows, labels = [parts.X_train], [parts.y_train]
        held, told = parts.X_val, parts.y_val
        if not tuning:
            rows, labels = [*rows, parts.X_val], [*labels, parts.y_val]
            held, told = parts.X_test, parts.y_test
        self.X = np.concatenate(rows).astype(np.float64)
        self.classes, self.y = np.unique(np.concatenate(labels), return_inverse=True)
        self.held, self.told = held[:HELD_OUT].astype(np.float64), told[:HELD_OUT]
        rng, passes = np.random.RandomState(seed), -(-queries // len(self.X))
        order = [rng.permutation(len(self.X)) for _ in range(passes)]
        self.order = np.concatenate(order)[:queries]

    def standardise(self) -> None:
        """Put all columns in deviations from the means of all rows of the stream."""
        spread = self.X.std(axis=0)
        centre, spread = self.X.mean(axis=0), np.where(spread > 1e-12, spread, 1.0)
        self.X, self.held = (self.X - centre) / spread, (self.held - centre) / spread

    def play(self, policy: Any, ends: Iterable[int]) -> Iterable[tuple[int, float, float, float]]:
        """At each end: answers, accuracies held out and while learning in per cent, CPU seconds."""
        start, lost, spent = 0, 0.0, 0.0
        for end in ends:
            began = time.process_time()
            lost += self._learn(policy, self.order[start:end])
            spent += time.process_time() - began
            right = np.mean(self.classes[policy.predict(self.held)] == self.told)
            yield end, 100 * float(right), 100 * (1 - lost / end), spent
            start = end

    def _learn(self, policy: Any, order: np.ndarray) -> float:
        """Decide and learn for rows in order; the sum of losses."""
        if isinstance(policy, MixedPolicy):
            return float(policy._stream(self.X, self.y, order, np.zeros(0), "0-1").sum())
        lost = 0.0
        for i in order:
            decision = policy.decide(self.X[i])
            loss = float(decision.action != self.y[i])
            policy.learn(self.X[i], decision, loss)
            lost += loss
        return lost


def begin(
    peer: str, setting: dict[str, Any], name: str, seed: int, queries: int, tuning: bool = False
) -> tuple[Any, Stream]:
    """A policy that knows nothing, and its stream."""
    stream = Stream(name, seed, queries, tuning)
    if peer == "ours":
        return MixedPolicy(len(stream.classes), random_state=seed), stream
    columns = stream.X.shape[1]
    if peer != UNTUNED and setting.get("standardise", True):
        stream.standardise()
    return make_peer(peer, setting, len(stream.classes), columns, seed), stream


def tune(name: str, peer: str, queries: int) -> dict[str, Any]:
    """The setting of a peer that does best on validation rows; what is tried is recorded."""
    tried = {
        line["setting"]: float(line["held_out"]) + float(line["progressive"])
        for line in _read(SETTINGS, TUNED)
        if (line["data"], line["peer"]) == (name, peer)
    }
    best: dict[str, Any] | None = None
    columns = load_parts(name, 0).X_train.shape[1]
    for _ in range(2):  # a second round around the best of the first
        for setting in settings_of(peer, best, columns):
            text = json.dumps(setting)
            if text not in tried:
                policy, stream = begin(peer, setting, name, 0, queries, tuning=True)
                (found,) = stream.play(policy, [queries])
                tried[text] = found[1] + found[2]
                cells = [name, peer, text, queries, f"{found[1]:.2f}", f"{found[2]:.2f}"]
                _append(SETTINGS, [dict(zip(TUNED, cells, strict=True))], TUNED)
        best = json.loads(max(tried, key=lambda text: tried[text]))
    assert best is not None
    return best


def run(
    name: str, peer: str, seed: int, queries: int, setting: dict[str, Any]
) -> list[dict[str, Any]]:
    """Records of one stream."""
    policy, stream = begin(peer, setting, name, seed, queries)
    ends = [end for end in CHECKPOINTS if end <= queries]
    records = []
    for end, *figures in stream.play(policy, ends):
        cells = (name, peer, seed, end, *(f"{value:.2f}" for value in figures))
        records.append(dict(zip(FIELDS, cells, strict=True)))
    return records


def _read(path: Path, fields: tuple[str, ...]) -> list[dict[str, str]]:
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(",".join(fields) + "\n")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, records: list[dict[str, Any]], fields: tuple[str, ...]) -> None:
    with path.open("a", newline="") as file:
        csv.DictWriter(file, fields, lineterminator="\n").writerows(records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["pendigits", "letter", "satimage", "segment"])
    known = ["ours", *PEERS]
    parser.add_argument("--peers", nargs="+", default=known[:-1], choices=known)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--tune-queries", type=int, default=10_000)
    parser.add_argument("--table", action="store_true", help="print docs/bandits.md's table")
    given = parser.parse_args()
    done = {tuple(line[name] for name in FIELDS[:4]) for line in _read(RESULTS, FIELDS)}
    if given.table:
        print(write_table(_read(RESULTS, FIELDS)))
        return
    last = max(end for end in CHECKPOINTS if end <= given.queries)
    for name in given.data:
        for peer in given.peers:
            tuned = peer not in ("ours", UNTUNED)
            setting = tune(name, peer, given.tune_queries) if tuned else {}
            for seed in given.seeds:
                if (name, peer, str(seed), str(last)) in done:
                    continue
                records = run(name, peer, seed, given.queries, setting)
                keys = [(name, peer, str(seed), str(record["queries"])) for record in records]
                new = [r for r, key in zip(records, keys, strict=True) if key not in done]
                _append(RESULTS, new, FIELDS)
                print(*records[-1].values(), setting, flush=True)


if __name__ == "__main__":
    main()
