"""A mixed learner's members as plain NumPy: what the compiled ones are compared with."""

from __future__ import annotations

import numpy as np


class Ridge:
    """One regression per action, solved anew from all answers whenever it is asked."""

    def __init__(self, actions: int, ridge: float) -> None:
        self.rows: list[list[np.ndarray]] = [[] for _ in range(actions)]
        self.rewards: list[list[float]] = [[] for _ in range(actions)]
        self.weights: list[list[float]] = [[] for _ in range(actions)]
        self.ridge = ridge

    def learn(self, k: int, x: np.ndarray, reward: float, weight: float = 1.0) -> None:
        self.rows[k].append(x)
        self.rewards[k].append(reward)
        self.weights[k].append(weight)

    def covariance(self, k: int, columns: int) -> np.ndarray:
        X = np.array(self.rows[k]).reshape(-1, columns)
        weighted = X * np.array(self.weights[k])[:, None]
        return np.linalg.inv(X.T @ weighted + self.ridge * np.eye(columns))

    def predict(self, k: int, x: np.ndarray, offset: float) -> float:
        X = np.array(self.rows[k]).reshape(-1, len(x))
        r = np.array(self.rewards[k]) - offset
        heard = X.T @ (r * np.array(self.weights[k]))
        return offset + float(x @ self.covariance(k, len(x)) @ heard)

    def width(self, k: int, x: np.ndarray) -> float:
        return float(np.sqrt(x @ self.covariance(k, len(x)) @ x))


def corrected(scores, distances, actions, rewards, counts, told):
    """Linear scores of all actions, drawn towards the rewards of neighbours, nearest first."""
    weights, sums = np.zeros(len(scores)), np.zeros(len(scores))
    for s, k, reward, count in zip(distances, actions, rewards, counts, strict=True):
        weight = min(count, told.most) / (s / (distances[-1] + 1e-9) + told.closest) ** 2
        weights[k] += weight
        sums[k] += weight * (reward - scores[k])
    return scores + sums / (weights + told.prior)


def stacked(history, memory, members, prior):
    """Weights of the members after answers (predictions, reward), all as deviations.

    The recursion in matrices: information decays by `memory`, but never below that of one answer.
    """
    information, weights = prior * np.eye(members), np.full(members, 1.0 / members)
    for scores, reward in history:
        information = memory * information + np.outer(scores, scores)
        inverse = np.linalg.inv(information)
        weights = weights + inverse @ scores * (reward - weights @ scores)
        largest = np.diag(inverse).max()
        if largest > 1.0:
            information = information * largest
    return weights
