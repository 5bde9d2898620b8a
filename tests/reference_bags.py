"""Bags computed slowly: a bag at a time, with nothing but a sum, a maximum or a mean of odds."""

import numpy as np


def pool_slowly(scores, number, how):
    """Scores of bags from scores of rows and the number of every row's bag."""
    found = []
    for bag in range(max(number) + 1):
        odds = [np.exp(score) for score, own in zip(scores, number, strict=True) if own == bag]
        found.append({"sum": sum(odds), "max": max(odds), "mean": sum(odds) / len(odds)}[how])
    return np.log(found)


def loss_slowly(scores, number, label, how):
    """Log-loss of every bag."""
    p = 1.0 / (1.0 + np.exp(-pool_slowly(scores, number, how)))
    return -np.log(np.where(np.asarray(label) == 1, p, 1.0 - p))


def concept_bags(n_bags, concept, seed, columns=4, most=6):
    """Bags of uniform rows, every other one with a row of a concept; the others have none."""
    random = np.random.default_rng(seed)
    parts, ids, labels = [], [], []
    for bag in range(n_bags):
        rows = random.uniform(-1, 1, (400, columns))
        inside = concept(rows)
        rows = np.vstack([rows[inside][: bag % 2], rows[~inside][: random.integers(1, most)]])
        parts.append(rows)
        ids += [f"bag {bag}"] * len(rows)
        labels.append(bag % 2)
    return np.vstack(parts), np.array(ids), np.array(labels)
