"""Open Bandit logs: a policy learnt from uniform lots, beside the lots and Thompson sampling.

    DGTREES_DATA=... python -m benchmarks.open_bandit

The policy learns the first half of the uniform log (in the order of time) and is judged by the
second, with its exploration and greedy. Thompson sampling is judged by its own log: the mean of its
clicks. Values are clicks per thousand, with intervals of 95 %.
"""

from __future__ import annotations

import numpy as np

from dgtrees import DGTBandit
from dgtrees.bandit import Estimate, Log, evaluate, read_open_bandit
from dgtrees.paper.catalog import data_folder

CAMPAIGNS = ("all", "men", "women")


def said(told: Estimate) -> str:
    value, low, high = (-1000 * x for x in (told.value, told.high, told.low))
    return f"{value:.1f} [{low:.1f}, {high:.1f}], {told.effective_rows:.0f} effective rows"


def own(log: Log) -> Estimate:
    """The value of whoever wrote the log."""
    certain = Log(log.X, log.actions, np.ones(len(log)), log.losses, log.n_actions)
    return evaluate(log.actions, certain, "snips")


def main() -> None:
    folder = data_folder() / "open_bandit"
    for campaign in CAMPAIGNS:
        items = folder / f"random_{campaign}_item_context.csv.xz"
        lots = read_open_bandit(folder / f"random_{campaign}.csv.xz", items)
        thompson = read_open_bandit(folder / f"bts_{campaign}.csv.xz", items)
        half = len(lots) // 2
        first, second = lots.take(slice(0, half)), lots.take(slice(half, None))
        policy = DGTBandit(
            actions=list(lots.actions), action_features=lots.action_features, random_state=0
        )
        policy.learn_log(first)
        uniform = np.full((len(second), len(lots.actions)), 1 / len(lots.actions))
        for method in ("snips", "dr"):
            print(campaign, method, "learnt ", said(evaluate(policy, second, method)))
            print(campaign, method, "uniform", said(evaluate(uniform, second, method)))
        print(campaign, "own log", "Thompson", said(own(thompson.to_log(lots.actions))), flush=True)


if __name__ == "__main__":
    main()
