"""`dgt warmup`: compile everything now, so that no later process has to.

What is compiled depends on the types of what a function is called with. So the kinds of models are
really fitted and asked, on a handful of rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dgtrees.cli import options as o
from dgtrees.cli.output import report
from dgtrees.cli.progress import batches_bar
from dgtrees.errors import StateError

__all__ = ["kinds", "warmup"]

_ROWS, _COLUMNS = 40, 3


def warmup(json: o.Json = False, quiet: o.Quiet = False) -> None:
    """Compile all code now and keep it, for example when an image is built.

    Afterwards the first fit, prediction or decision of a process takes no longer than the next.
    """
    from dgtrees.learn import boosting_tuning, descent, members  # noqa: F401
    from dgtrees.paper.baselines import _forest_bandit  # noqa: F401
    from dgtrees.tree import compiled, online, routing  # noqa: F401

    place = compiled.folder()
    if place is None:
        raise StateError(
            "compiled code must be kept in a folder that can be written, got none: set "
            "NUMBA_CACHE_DIR to one"
        )
    started = time.perf_counter()
    steps = list(kinds())
    with batches_bar(len(steps), o.on_terminal() and not (quiet or json), "compiling") as advance:
        for step in steps:
            step()
            advance(1)
    counts = compiled.COUNTS
    if counts["kept"] < counts["compiled"]:
        raise StateError(
            f"{place}: must have room for compiled code, and took {counts['kept']} of "
            f"{counts['compiled']} parts: make room, or set NUMBA_CACHE_DIR to another folder"
        )
    seconds = time.perf_counter() - started
    result = {"folder": place, **counts, "seconds": round(seconds, 2)}
    del result["kept"]
    text = (
        f"compiled {counts['compiled']} functions in {seconds:.1f} s, {counts['found']} were there "
        f"already: {place}"
    )
    report(result, text, as_json=json, quiet=quiet, clear=True)


def kinds() -> Iterator[Callable[[], Any]]:
    """One function for every kind of model, which fits it and asks it in all ways."""
    import dgtrees
    from dgtrees.paper.baselines import ContextualBanditForest

    trees: list[dict[str, Any]] = [
        {},
        {"leaf": "linear"},
        {"recipe": "paper"},
        {"loss": _own_loss},
        {"refine": "polish"},
        {"refine": "polish", "leaf": "linear"},
    ]
    for tree in (dgtrees.DGTClassifier, dgtrees.DGTRegressor):
        yield partial(_fit, tree(random_state=0))
        for options in trees:
            yield partial(_fit, tree(2, max_epochs=1, random_state=0, **options))
    for forest in (dgtrees.DGTForestClassifier, dgtrees.DGTForestRegressor):
        for leaf in ("constant", "linear"):
            yield partial(_fit, forest(2, max_depth=2, leaf=leaf, max_epochs=1, random_state=0))
        yield partial(_fit, forest(2, random_state=0))
    for boosting in (dgtrees.DGTBoostingClassifier, dgtrees.DGTBoostingRegressor):
        for linear in (False, True):
            yield partial(_fit, boosting(2, linear=linear, random_state=0))
        yield partial(_fit, boosting(2, tune=True, linear=False, random_state=0))
        # Linear leaves want rows enough for a cut.
        yield partial(_fit, boosting(2, leaf="mixed", random_state=0), 5 * _ROWS)
    yield _sum_trees
    yield partial(_fit_classes, dgtrees.DGTBoostingClassifier(2, random_state=0))
    yield partial(_answer, dgtrees.DGTBandit(2, random_state=0))
    yield _learn_wide_rows
    yield partial(_answer, dgtrees.DGTBandit(2, 2, "constant", random_state=0))
    yield partial(_answer, dgtrees.DGTContinuousBandit(0.0, 1.0, 2, random_state=0))
    baseline = ContextualBanditForest(2, n_trees=2, max_depth=2, warm_up=5, random_state=0)
    yield partial(_decide_and_learn, baseline)


def _own_loss(prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A loss of one's own, for which training goes step by step."""
    return np.zeros(len(prediction)), np.zeros_like(prediction)


def _rows(count: int = _ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose class, or value, is 0 and 1."""
    X = np.random.default_rng(0).normal(size=(count, _COLUMNS))
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64)


def _arrays(X: np.ndarray) -> Iterator[np.ndarray]:
    """The same numbers in all types that are told apart: 8 or 4 bytes, writeable or not."""
    for dtype in (np.float64, np.float32):
        for writeable in (True, False):
            array = X.astype(dtype)
            array.setflags(write=writeable)
            yield array


def _fit(model: Any, count: int = _ROWS) -> None:
    X, y = _rows(count)
    model.fit(X, y, X_val=X, y_val=y).predict(X)
    forest = model.model_.forest
    fitted = forest.trees[0] if model.model_.alone else forest
    _ask(model, fitted, X)


def _fit_classes(model: Any) -> None:
    """Several classes, whose splits are chosen together."""
    X, _ = _rows()
    model.fit(X, np.arange(_ROWS) % 3).predict(X)


def _sum_trees() -> None:
    """Batches through trees of few leaves, of up to 64, and of more."""
    from dgtrees.tree import ObliqueForest, ObliqueTree

    X, _ = _rows()
    for height in (1, 6, 7):
        nodes = 2**height - 1
        weights = np.eye(_COLUMNS)[np.arange(nodes) % _COLUMNS]
        weights[0] = 1.0
        tree = ObliqueTree.complete(weights, np.zeros(nodes), np.zeros((nodes + 1, 1)))
        for array in _arrays(X):
            ObliqueForest((tree,), "sum").predict(array)
            ObliqueForest((tree,), "sum").apply(array)


def _ask(model: Any, fitted: Any, X: np.ndarray) -> None:
    """Rows and single rows, through the estimator and through what it has fitted."""
    from dgtrees.model.reading import encode_row

    # A model knows the range of its columns only where one of them has wild cells.
    encoded = model.model_.encode(X)
    ranged = model.model_.encoder.reaching(encoded.min(axis=0), encoded.max(axis=0))
    for array, rows in zip(_arrays(X), _arrays(encoded), strict=True):
        model.apply(array)
        fitted.predict(rows)
        fitted.apply(rows)
        for row, inner in ((array[0], rows[0]), (array[0].copy(), rows[0].copy())):
            fitted.predict_row(inner)
            fitted.apply_row(inner)
            model.predict_row(row)
            encode_row(row, ranged, None)


def _answer(policy: Any) -> None:
    from dgtrees.bandit import simulate

    X, y = _rows()
    _decide_and_learn(policy)
    finite = hasattr(policy, "n_actions")
    for array in _arrays(X):
        simulate(policy, array, y if finite else y.astype(float))
    if finite:
        policy.action_probabilities(X)


def _learn_wide_rows() -> None:
    """Rows whose products are chosen from, and rows that are turned to their axes."""
    from dgtrees.bandit.mixed_policy import MixedPolicy

    for columns in (30, 130):
        policy = MixedPolicy(2)
        for x in np.random.default_rng(0).normal(size=(_ROWS, columns)):
            policy.learn(x, policy.decide(x), 0.5)


def _decide_and_learn(policy: Any) -> None:
    X, _ = _rows()
    for array in _arrays(X):
        for x in array:
            policy.learn(x, policy.decide(x), 0.5)
        policy.predict(array)
