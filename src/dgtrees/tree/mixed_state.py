"""What a mixed learner is told and what it remembers: one tuple of numbers, one of arrays.

Everything that depends on scales has two slots: one in use, and one in the making from the log,
see `bandit.mixed_successor`. Arrays are changed in place; only those that grow with the log are
replaced.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np

from dgtrees.tree.by_reference import opener
from dgtrees.tree.least_squares import Bank, make_bank
from dgtrees.tree.neighbours import Neighbours, make_neighbours

__all__ = [
    "Counts",
    "Mixed",
    "Rewards",
    "Scored",
    "Told",
    "find_sizes",
    "make_mixed",
    "make_scratch",
    "open_mixed",
]

MEMBERS = 3
"""Linear regression, regression with products, neighbours."""
DECIDE, LEARN = 0, 1
"""Streams of random numbers: what is learnt does not depend on how often one asks."""
GROUPS = 32
"""Actions are screened for products in at most so many groups."""
LAST_STAGE = 4
"""Of the work on a successor: inverting."""
FIRST_MODEL = 10
"""Answers from which the first model is made."""
RENEW_EVERY = 1024
"""Answers after which the inverses of another action are computed anew."""
LOOK_EVERY = 25
"""Answers after which one looks again whether the world has changed."""

STACK_PRIOR = 30.0  # answers of one deviation each that the stack's first, equal weights are worth
_WIDEST = 128  # columns; beyond, rows are turned to their principal axes
_AXES = 96
_PRODUCTS = 200
_LARGEST = 8_000_000  # numbers in the inverses of a bank


class Told(NamedTuple):
    """Settings of a learner."""

    ridge: float
    product_ridge: float
    bonus: float  # standard errors that an action is credited with, times sqrt(log actions)
    explore: float  # share of uniform draws at the start, and the least
    least_explore: float
    half_life: float  # answers after which one counts half; 0 for never
    notice_change: bool
    clip: float = 5.0  # standardised columns are cut here
    prior: float = 8.0  # weight of the linear prediction among those of neighbours
    closest: float = 0.05  # of the farthest neighbour's distance: nearer ones count no more
    most: int = 4  # an answer that came again counts no more often
    stack_memory: float = 0.999  # what a reward counts among those of the stack one answer later


class _CountPlaces(NamedTuple):
    SEEN: int  # answers
    LIVE: int  # slot in use
    BUILT: int  # models made so far; 0 while there is none
    STAGE: int  # of the work on a successor, see `bandit.mixed_successor`
    POINTER: int  # number of the next answer that it learns from
    START: int  # answers when it was begun
    TAKEN: int  # answers of its sample looked at
    INVERTED: int  # actions whose sums are inverted
    LOW: int  # number of the first answer that counts: those before belong to another world
    NEXT: int  # answers at which the next successor is begun
    CHANGES: int  # of the world, noticed


class _RewardPlaces(NamedTuple):
    WEIGHT: int  # of recent answers, each 1 / probability
    WEIGHTED: int  # sum of rewards so weighted
    OFFSET: int  # their mean, that of uniform draws
    MEAN: int  # of recent rewards
    SQUARE: int  # their variance
    SMALLEST: int
    LARGEST: int


class _ScoredPlaces(NamedTuple):
    FOUND: int  # neighbours
    KNOWN: int  # 1 if one of them is the row itself
    VALID: int  # 1 until something is learnt, or other rows are scored


# Tuples, not enumerations: compiled code takes their fields for constants.
Counts = _CountPlaces(*range(len(_CountPlaces._fields)))
"""Places in `Mixed.counts`."""
Rewards = _RewardPlaces(*range(len(_RewardPlaces._fields)))
"""Places in `Mixed.rewards_seen`."""
Scored = _ScoredPlaces(*range(len(_ScoredPlaces._fields)))
"""Places in `Mixed.scored`: what is known of the row that was scored last."""


class Mixed(NamedTuple):
    """Everything a learner remembers; room, columns d, axes p, products m, actions K."""

    told: Told
    log_rows: np.ndarray  # (room, d), float32, less `shift`
    log_actions: np.ndarray  # (room,)
    log_rewards: np.ndarray  # (room,)
    shift: np.ndarray  # (d,), the first row, then the median of the first few
    centre: np.ndarray  # (2, d)
    inverse_scale: np.ndarray  # (2, d)
    axes: np.ndarray  # (2, p, d) where rows are turned, (2, 0, 0) where not
    spread: np.ndarray  # (2, p), one over the deviation along an axis
    pairs: np.ndarray  # (2, m, 2), columns that are multiplied
    linear: Bank
    product: Bank
    near: Neighbours
    base: np.ndarray  # (2,), number of the answer that counts 1 where older ones count less
    like: np.ndarray  # (added, K), shares of actions that those added start from
    stack: np.ndarray  # (2, members), what these count for new rows, and for known ones
    stack_inverse: np.ndarray  # (2, members, members)
    rewards_seen: np.ndarray
    counts: np.ndarray
    random: np.ndarray
    found: np.ndarray  # (groups, p, p), of the screening
    noise: np.ndarray  # (groups, p, p)
    gathered: np.ndarray  # (p, d), of the turning
    scaled: np.ndarray  # (d,), scratch from here on
    row: np.ndarray  # (p + 1,)
    products: np.ndarray  # (p + m + 1,)
    scores: np.ndarray  # (members, K)
    total: np.ndarray  # (K,)
    probabilities: np.ndarray  # (K,)
    votes: np.ndarray  # (2, K)
    stack_gain: np.ndarray  # (members,)
    raw: np.ndarray  # (d,), the row that was scored last
    scored: np.ndarray  # see `Scored`


def find_sizes(features: int, actions: int) -> tuple[int, int]:
    """Axes and products that a learner of so many columns and actions can afford."""
    most = isqrt(_LARGEST // (2 * actions))
    axes = features
    if features > _WIDEST or features + 1 > most:
        axes = max(1, min(features, _AXES, most - 1))
    products = min(_PRODUCTS, axes * (axes + 1) // 2)
    room = isqrt(_LARGEST // actions) - axes - 1
    return axes, max(0, min(products, room))


def make_mixed(features: int, actions: int, room: int, told: Told, seed: int) -> Mixed:
    """A learner that has seen nothing."""
    axes, products = find_sizes(features, actions)
    rng = np.random.default_rng(seed)
    turned = axes < features
    turn = rng.normal(size=(axes, features)) / np.sqrt(features) if turned else np.zeros((0, 0))
    screened = not turned and products < axes * (axes + 1) // 2
    groups = min(actions, GROUPS) if screened else 0
    counts = np.zeros(len(Counts), dtype=np.int64)
    counts[Counts.NEXT] = FIRST_MODEL
    return Mixed(
        told=told,
        log_rows=np.zeros((room, features), dtype=np.float32),
        log_actions=np.zeros(room, dtype=np.int32),
        log_rewards=np.zeros(room),
        shift=np.zeros(features),
        centre=np.zeros((2, features)),
        inverse_scale=np.zeros((2, features)),
        axes=np.stack([turn, turn]),
        spread=np.ones((2, axes)),
        pairs=np.stack([_first_pairs(axes, products)] * 2),
        linear=make_bank(actions, axes + 1, told.ridge),
        product=make_bank(actions, axes + products + 1, told.product_ridge),
        near=make_neighbours(room, axes),
        base=np.zeros(2, dtype=np.int64),
        like=np.zeros((0, actions)),
        stack=np.full((2, MEMBERS), 1.0 / MEMBERS),
        stack_inverse=np.stack([np.eye(MEMBERS) / STACK_PRIOR] * 2),
        rewards_seen=np.zeros(len(Rewards)),
        counts=counts,
        random=rng.integers(2**64, size=2, dtype=np.uint64),
        found=np.zeros((groups, axes, axes)),
        noise=np.zeros((groups, axes, axes)),
        gathered=np.zeros((axes if turned else 0, features)),
        **make_scratch(features, actions, axes, products),
    )


def make_scratch(features: int, actions: int, axes: int, products: int) -> dict[str, np.ndarray]:
    """Arrays that hold nothing between an answer and the next decision."""
    return {
        "scaled": np.zeros(features),
        "row": np.zeros(axes + 1),
        "products": np.zeros(axes + products + 1),
        "scores": np.zeros((MEMBERS, actions)),
        "total": np.zeros(actions),
        "probabilities": np.zeros(actions),
        "votes": np.zeros((2, actions)),
        "stack_gain": np.zeros(MEMBERS),
        "raw": np.zeros(features),
        "scored": np.zeros(len(Scored), dtype=np.int64),
    }


def _first_pairs(axes: int, products: int) -> np.ndarray:
    """Pairs of the leading columns: 0 0, 0 1, 1 1, 0 2, 1 2, 2 2, .."""
    second, first = np.tril_indices(axes)
    return np.stack([first, second], axis=1)[:products].astype(np.int64)


open_mixed = opener(make_mixed(1, 1, 1, Told(1.0, 1.0, 0.0, 0.0, 0.0, 0.0, False), 0))
"""The state behind a table, in compiled code."""
