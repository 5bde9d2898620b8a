"""The plane of a node that has several leaves to give its rows to, and which of them lie where.

Many partings of the leaves are proposed (`groupings`), judged on some of the rows with the plane of
a linear discriminant, and the best fitted to all rows. Between fits the leaves of either side
settle on the rows that they would get: what a plane costs is known only once they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dgtrees.learn.groupings import propose_groups
from dgtrees.learn.half_spaces import HalfSpace, fit_half_space
from dgtrees.learn.leaf_shapes import Shapes, settle

__all__ = ["Cut", "CutSettings", "find_cut"]


@dataclass(frozen=True)
class CutSettings:
    """How hard to look.

    Parameters
    ----------
    balance : float
        How much a cut that halves the rows is preferred to one that parts off a few: costs are
        divided by the entropy of the shares to this power. 0 looks at costs only, and grows chains.
    screen_rows : int
        Rows that all proposed partings are judged on.
    tries : int
        Partings, the best on those rows, for which planes are fitted to all rows.
    rounds : int
        Times that plane and leaves are fitted to each other before a cut is judged.
    """

    balance: float = 2.0
    screen_rows: int = 3000
    tries: int = 3
    rounds: int = 2


class Cut(NamedTuple):
    """A plane, and the leaves on its left and on its right."""

    plane: HalfSpace
    low: Shapes
    high: Shapes


def find_cut(
    X: np.ndarray,
    weight: np.ndarray,
    shapes: Shapes,
    settings: CutSettings,
    rng: np.random.Generator,
) -> Cut:
    """The cut that costs least for what it tells, with a row for every leaf on either side."""
    shapes, costs = settle(shapes, X, weight, 30)
    costs *= weight[:, None]
    least = float(costs.min(axis=1).sum())
    found = [
        _fit(X, weight, shapes, costs, group, start, settings.rounds)
        for group, start in _screen(X, weight, shapes, costs, settings, rng)
    ]
    shares = [float(weight[cut.plane.margins(X) >= 0].sum() / weight.sum()) for _, cut in found]
    ranks = [
        _per_bit(cost - least, share, settings.balance)
        for (cost, _), share in zip(found, shares, strict=True)
    ]
    return found[int(np.argmin(ranks))][1]


def _fit(
    X: np.ndarray,
    weight: np.ndarray,
    shapes: Shapes,
    costs: np.ndarray,
    group: np.ndarray,
    plane: HalfSpace,
    rounds: int,
) -> tuple[float, Cut]:
    """Plane and leaves fitted to each other in turns; what all rows then cost."""
    low, high = shapes.take(~group), shapes.take(group)
    on_left, on_right = costs[:, ~group].min(axis=1), costs[:, group].min(axis=1)
    for number in range(rounds):
        fitted = fit_half_space(X, on_right - on_left, plane, logistic=number == 0)
        right = fitted.margins(X) >= 0
        if not len(high) <= right.sum() <= len(right) - len(low):
            break  # the plane that there was has room for every leaf
        plane = fitted
        low, _ = settle(low, X[~right], weight[~right], 2)
        high, _ = settle(high, X[right], weight[right], 2)
        on_left, on_right = (weight * side.costs(X).min(axis=1) for side in (low, high))
    cost = float(np.where(plane.margins(X) >= 0, on_right, on_left).sum())
    return cost, Cut(plane, low, high)


def _per_bit(cost: float, share: float, balance: float) -> float:
    """What a cut costs for what it tells: over the entropy of the shares, to a power."""
    bits = -sum(part * np.log2(part) for part in (share, 1.0 - share) if part > 0)
    bits = max(bits, 1e-3) ** balance
    return float(cost / bits if cost > 0 else cost * bits)


def _screen(
    X: np.ndarray,
    weight: np.ndarray,
    shapes: Shapes,
    costs: np.ndarray,
    settings: CutSettings,
    rng: np.random.Generator,
) -> list[tuple[np.ndarray, HalfSpace]]:
    """The partings that look best on some of the rows, and planes between their groups."""
    size = np.bincount(costs.argmin(axis=1), weight, minlength=len(shapes))
    size += 1e-9 * weight.sum()
    spread = _spread(X, weight)
    most = max(settings.screen_rows, 4 * len(shapes))
    if len(X) > most:
        some = np.sort(rng.choice(len(X), most, replace=False))
        X, weight, costs = X[some], weight[some], costs[some]
    least = float(costs.min(axis=1).sum())
    ranked: list[tuple[float, int, np.ndarray, HalfSpace]] = []
    for group in propose_groups(shapes.centres, size, costs, rng):
        ahead = np.average(shapes.centres[group], axis=0, weights=size[group])
        behind = np.average(shapes.centres[~group], axis=0, weights=size[~group])
        low, high = costs[:, ~group].min(axis=1), costs[:, group].min(axis=1)
        # From centre to centre, which needs no rows to be learnt, goes before the discriminant.
        for direction in (ahead - behind, np.linalg.solve(spread, ahead - behind)):
            places = X @ direction
            cut = _best_place(places, high - low, int((~group).sum()), int(group.sum()))
            if cut is not None:
                cost, at = cut
                share = float(weight[places >= at].sum() / weight.sum())
                rank = _per_bit(float(low.sum()) + cost - least, share, settings.balance)
                ranked.append((rank, len(ranked), group, HalfSpace(direction, -at)))
    ranked.sort(key=lambda entry: entry[:2])
    chosen = [(group, plane) for _, _, group, plane in ranked[: settings.tries]]
    return chosen or [_any_cut(X, len(shapes), rng)]


def _spread(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Covariances of the columns, and the more of their mean variance the fewer rows there are."""
    away = X - np.average(X, axis=0, weights=weight)
    spread = (away * weight[:, None]).T @ away / weight.sum()
    typical = float(np.trace(spread)) / len(spread)
    share = 0.01 + len(spread) / len(X)
    return np.asarray(spread + np.eye(len(spread)) * (share * typical if typical > 0 else 1.0))


def _best_place(
    places: np.ndarray, gain: np.ndarray, on_left: int, on_right: int
) -> tuple[float, float] | None:
    """Where rows along a line are best cut, so many at least on either side: cost, and place."""
    order = np.argsort(-places, kind="stable")
    falling, total = places[order], np.cumsum(gain[order])[:-1]
    last = np.arange(1, len(places))  # rows on the right of a cut behind each row
    fits = (falling[:-1] > falling[1:]) & (last >= on_right) & (len(places) - last >= on_left)
    if not fits.any():
        return None
    best = int(np.where(fits, total, np.inf).argmin())
    return float(total[best]), float(falling[best] + falling[best + 1]) / 2.0


def _any_cut(X: np.ndarray, leaves: int, rng: np.random.Generator) -> tuple[np.ndarray, HalfSpace]:
    """A random plane with half the leaves and as many rows at least on either side."""
    group = np.arange(leaves) >= leaves // 2
    direction = rng.standard_normal(X.shape[1])
    cut = _best_place(X @ direction, np.zeros(len(X)), int((~group).sum()), int(group.sum()))
    if cut is None:
        raise ValueError("rows must differ in as many ways as there are leaves: ask for fewer")
    return group, HalfSpace(np.asarray(direction), -cut[1])
