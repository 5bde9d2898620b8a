"""Methods that learn from the loss of their own actions, on labelled rows as a stream of queries.

Settings are compared with training rows as the stream and validation rows to measure on; the
final run streams both and measures on test rows. Values are scaled to lie between 0 and 1, as in
the paper, and errors are given in the units of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dgtrees import DGTBandit, DGTContinuousBandit
from dgtrees.bandit import simulate
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.learn.recipe import Recipe
from dgtrees.paper.baselines import ContextualBanditForest, LinearContinuousBandit, VWBandit
from dgtrees.paper.catalog import Split
from dgtrees.tree.action_losses import huber

_TEST_ROWS = 10_000
_MARGIN = 0.05
"""How far beyond the targets actions may go, as a share of their range: what is best is unknown."""
_FAR = 1000.0
"""Bounds of baselines that the paper runs without any, in units of the targets' range."""


def _change_recipe(name: str, kind: str, changes: dict[str, Any]) -> Any:
    return replace(RECIPES[name][kind], **changes)


def _make_dgt(n_actions: int, height: int, seed: int, settings: dict[str, Any]) -> Any:
    leaf, name = settings.pop("leaf", "constant"), settings.pop("recipe", "default")
    recipe = _change_recipe(name, leaf, settings)
    return DGTBandit(n_actions, height, leaf, recipe=recipe, random_state=seed)


def _make_cbf(n_actions: int, height: int, seed: int, settings: dict[str, Any]) -> Any:
    return ContextualBanditForest(n_actions, **settings, random_state=seed)


def _make_vw(n_actions: int, height: int, seed: int, settings: dict[str, Any]) -> Any:
    return VWBandit(n_actions, settings["options"], random_state=seed)


CLASSES: dict[str, Callable[..., Any]] = {"dgt-bandit": _make_dgt, "cbf": _make_cbf, "vw": _make_vw}


def _make_dgt_values(feedback: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    leaf, name = settings.pop("leaf", "linear"), settings.pop("recipe", "default")
    delta = settings.pop("delta", None)
    answers = settings.pop("answers", 1)
    recipe = _change_recipe(name, f"continuous, {leaf}", settings)
    if isinstance(recipe, Recipe):  # learns by batches, at a rate that falls until the end
        recipe = replace(recipe, steps=max(1, answers // recipe.batch_size))
    return DGTContinuousBandit(
        -_MARGIN, 1.0 + _MARGIN, height, leaf,
        feedback=feedback, delta=delta, recipe=recipe, random_state=seed,
    )  # fmt: skip


def _make_linear_values(feedback: str, height: int, seed: int, settings: dict[str, Any]) -> Any:
    margin = _FAR if settings.get("recipe") == "paper" else _MARGIN
    return LinearContinuousBandit(
        -margin, 1.0 + margin, feedback=feedback, random_state=seed, **settings
    )


VALUES: dict[str, Callable[..., Any]] = {
    "dgt-continuous": _make_dgt_values,
    "linear-continuous": _make_linear_values,
}
QUICK: dict[str, dict[str, Any]] = {
    **{kind: {"queries": [100, 300]} for kind in CLASSES},
    **{kind: {"passes": [1]} for kind in VALUES},
}


_NOT_ITS_OWN = ("queries", "passes", "standardise", "loss", "feedback", "height", "keep_best")
"""Settings of the stream, not of the policy."""


def make_policy(kind: str, height: int, seed: int, settings: dict[str, Any], n_actions: int) -> Any:
    """A policy of these settings that knows nothing yet."""
    own = {name: value for name, value in settings.items() if name not in _NOT_ITS_OWN}
    height = settings.get("height", height)
    if kind in CLASSES:
        return CLASSES[kind](n_actions, height, seed, own)
    return VALUES[kind](settings["feedback"], height, seed, own)


def run_stream(kind: str, height: int, seed: int, settings: dict, data: Split, final: bool) -> dict:
    """One stream: score at its end, and the curve there."""
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_val, data.y_val
    if settings.get("keep_best"):
        return _run_passes(kind, height, seed, settings, data, final)
    if final:
        X, y = np.concatenate([X, data.X_val]), np.concatenate([y, data.y_val])
        X_test, y_test = data.X_test, data.y_test
    play = _run_classes if kind in CLASSES else _run_values
    return play(kind, height, seed, settings, (X, y), (X_test, y_test))


def _run_classes(kind: str, height: int, seed: int, settings: dict, stream: Any, test: Any) -> dict:
    (X, y), (X_test, y_test) = stream, (rows[:_TEST_ROWS] for rows in test)
    if settings.get("standardise"):
        centre, spread = X.mean(axis=0), X.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        X, X_test = (X - centre) / spread, (X_test - centre) / spread
    policy = make_policy(kind, height, seed, settings, len(np.unique(y)))
    curve = simulate(
        policy, X, y,
        X_test=X_test, y_test=y_test, checkpoints=settings["queries"], random_state=seed,
    )  # fmt: skip
    held_out = [100.0 * float(v) for v in curve.held_out]
    return {
        "score": held_out[-1],
        "curve": {
            "queries": curve.queries,
            "held_out": held_out,
            "progressive": [100.0 * float(v) for v in curve.progressive],
        },
    }


def _run_values(kind: str, height: int, seed: int, settings: dict, stream: Any, test: Any) -> dict:
    (X, y), (X_test, y_test) = stream, test
    low, width = y.min(), y.max() - y.min()
    scaled = (y - low) / width
    ends = [max(1, round(passes * len(X))) for passes in settings["passes"]]
    loss = settings.get("loss", "squared")
    own = settings | ({"answers": ends[-1]} if kind == "dgt-continuous" else {})
    policy = make_policy(kind, height, seed, own, 1)
    curve = simulate(
        policy, X, scaled,
        X_test=X_test, y_test=(y_test - low) / width,
        checkpoints=ends, loss=huber if loss == "huber" else loss, random_state=seed,
    )  # fmt: skip
    error = policy.predict(X_test) - (y_test - low) / width
    found: dict[str, Any] = {"score": float(width * np.sqrt(np.mean(error**2))), "curve": {}}
    if loss == "squared":
        errors = [float(width * v**0.5) for v in curve.held_out]
        found["curve"] = {"queries": curve.queries, "held_out": errors}
    return found


def _run_passes(
    kind: str, height: int, seed: int, settings: dict, data: Split, final: bool
) -> dict[str, Any]:
    """Training rows streamed pass by pass; the pass that does best on validation rows is kept.

    So the paper's authors run their trees; a policy that has no labelled rows cannot.
    """
    X, y = data.X_train, np.ravel(data.y_train)
    low, width = y.min(), y.max() - y.min()
    scaled, passes = (y - low) / width, int(settings["passes"][-1])
    policy = make_policy(kind, height, seed, settings | {"answers": passes * len(X)}, 1)
    loss = settings.get("loss", "squared")
    named = huber if loss == "huber" else loss
    best, test = np.inf, np.inf
    for number in range(passes):
        order = passes * seed + number
        simulate(policy, X, scaled, loss=named, checkpoints=[len(X)], random_state=order)
        error = _rmse(policy, data.X_val, data.y_val, low, width)
        if error < best:
            best = error
            test = _rmse(policy, data.X_test, data.y_test, low, width) if final else best
    return {"score": test, "curve": {}}


def _rmse(policy: Any, X: np.ndarray, y: np.ndarray, low: float, width: float) -> float:
    error = low + width * policy.predict(X) - np.ravel(y)
    return float(np.sqrt(np.mean(error**2)))
