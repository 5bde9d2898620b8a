"""Queries a second on one core, d = 54, K = 7, h = 6: ours, Vowpal Wabbit, plain torch.

    taskset -c 0 python -m benchmarks.bandit_speed

All run in turn, in blocks, in one process; medians over rounds. Vowpal Wabbit's feature texts are
made beforehand; features are named f0, f1, .., because bare integers would be merged.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from tests import reference_torch

from dgtrees import DGTBandit
from dgtrees.bandit import Epsilon
from dgtrees.bandit.online_recipe import RECIPES

ROWS, D, K, HEIGHT = 2_000, 54, 7, 6


def task() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, D))
    return X, (X @ rng.normal(size=(D, K))).argmax(axis=1)


def policy(replay: bool) -> DGTBandit:
    recipe = RECIPES["default"]["constant"]
    recipe = recipe if replay else replace(recipe, replay=0, capacity=0)
    return DGTBandit(K, HEIGHT, recipe=recipe, random_state=0)


def our_loop(X: np.ndarray, y: np.ndarray, replay: bool) -> Callable[[], int]:
    tree = policy(replay)
    labels = y.tolist()

    def block() -> int:
        for x, label in zip(X, labels, strict=True):
            decision = tree.decide(x)
            tree.learn(x, decision, float(decision.action != label))
        return len(X)

    return block


def our_stream(X: np.ndarray, y: np.ndarray, replay: bool) -> Callable[[], int]:
    tree = policy(replay)
    order = np.tile(np.arange(ROWS), 1 if replay else 10)
    visits = np.zeros(2**HEIGHT, dtype=np.int64)

    def block() -> int:
        tree._stream(X, y, order, visits, "0-1")
        return len(order)

    return block


def vw_loops(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], int]]:
    from vowpalwabbit import pyvw

    arguments = f"--cb_explore {K} --epsilon 0.1 --quiet"
    texts = [" ".join(f"f{j}:{v:.6g}" for j, v in enumerate(x)) for x in X]
    rng = np.random.default_rng(0)
    live, parsed = pyvw.Workspace(arguments), pyvw.Workspace(arguments)
    actions = rng.integers(K, size=ROWS)
    ready = [
        parsed.parse(
            f"{a + 1}:{float(a != label)}:{1 / K:.6g} | {text}", pyvw.LabelType.CONTEXTUAL_BANDIT
        )
        for a, label, text in zip(actions, y, texts, strict=True)
    ]
    draws = rng.random(ROWS).tolist()
    labels = y.tolist()

    def decide_and_learn() -> int:
        for text, label, draw in zip(texts, labels, draws, strict=True):
            pmf = live.predict(f"| {text}")
            action, total = 0, pmf[0]
            while total < draw and action < K - 1:
                action += 1
                total += pmf[action]
            live.learn(f"{action + 1}:{float(action != label)}:{pmf[action]} | {text}")
        return ROWS

    def learn_parsed() -> int:
        for example in ready:
            parsed.learn(example)
        return ROWS

    return {"decide+learn": decide_and_learn, "parsed": learn_parsed}


def torch_loop(X: np.ndarray, y: np.ndarray) -> Callable[[], int]:
    """Algorithm 1 as one would write it: dense paths, autograd, RMSprop every four queries."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tree = reference_torch.DenseTree(D, K, HEIGHT)
    optimizer = torch.optim.RMSprop(tree.parameters(), lr=1e-3)
    rows = torch.tensor(X, dtype=torch.float32)
    labels = y.tolist()
    delta = 0.3

    def block(queries: int = 200) -> int:
        for i in range(queries):
            scores = tree(rows[i : i + 1])[0]
            p = torch.full((K,), delta / K)
            p[scores.argmax()] += 1 - delta
            action = int(torch.multinomial(p, 1))
            loss = float(action != labels[i])
            win = torch.sigmoid(scores.detach()[action])
            slope = 2 / p[action] * (loss - (1 - win)) * win * (1 - win)
            scores[action].backward(slope)
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
        return queries

    return block


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    assert Epsilon(0.1) == RECIPES["default"]["constant"].explore  # as VW is told
    X, y = task()
    vw = vw_loops(X, y)
    work = {
        "decide+learn from Python": our_loop(X, y, replay=False),
        "decide+learn from Python, default (replay)": our_loop(X, y, replay=True),
        "VW decide+learn from Python": vw["decide+learn"],
        "compiled stream": our_stream(X, y, replay=False),
        "compiled stream, default (replay)": our_stream(X, y, replay=True),
        "VW learn, examples parsed before": vw["parsed"],
        "Algorithm 1 in torch": torch_loop(X, y),
    }
    speeds = np.empty((arguments.rounds, len(work)))
    for i in range(-2, arguments.rounds):  # two rounds more, to compile and warm up
        for j, block in enumerate(work.values()):
            started = time.process_time()
            done = block()
            speeds[i, j] = done / (time.process_time() - started)
    middle = dict(zip(work, np.median(speeds, axis=0), strict=True))
    named = dict(zip(work, speeds.T, strict=True))

    def ratio(one: str, other: str) -> float:
        return float(np.median(named[one] / named[other]))

    table = Table(title=f"queries a CPU second, d={D} K={K} h={HEIGHT}")
    for column in ("what", "queries/s", "ratio", "goal"):
        table.add_column(column, justify="left" if column == "what" else "right")
    goals = {
        "decide+learn from Python": ("VW decide+learn from Python", "1x"),
        "decide+learn from Python, default (replay)": ("VW decide+learn from Python", ""),
        "compiled stream": ("VW learn, examples parsed before", "0.5x and 100,000/s"),
        "compiled stream, default (replay)": ("VW learn, examples parsed before", ""),
    }
    for name, speed in middle.items():
        against, goal = goals.get(name, ("", ""))
        shown = f"{ratio(name, against):.2f}x {against}" if against else ""
        table.add_row(name, f"{speed:,.0f}", shown, goal)
    torch_ratio = ratio("compiled stream", "Algorithm 1 in torch")
    table.add_row("compiled stream", "", f"{torch_ratio:.0f}x Algorithm 1 in torch", "50x")
    Console(width=130).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(middle, indent=1))


if __name__ == "__main__":
    main()
