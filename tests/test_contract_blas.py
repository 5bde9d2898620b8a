"""Every estimator learns with one BLAS thread: equal sums on every machine, and no waiting.

Threads of BLAS wait for each other by spinning. On a busy machine small systems of equations then
take hundreds of times as long, which no test of results notices.
"""

import functools

import numpy as np
import pytest
from sklearn.datasets import load_iris

import dgtrees
from dgtrees.learn import threads

X, y = load_iris(return_X_y=True)
FEW = np.where(np.arange(len(y)) % 3, -1, y)
SIZES = X[:, 3] + np.abs(X[:, 0] - 5.8)  # no line, so that there is something to grow
CASES = {
    "tree": (dgtrees.DGTClassifier(), y),
    "linear leaves": (dgtrees.DGTRegressor(leaf="linear"), SIZES),
    "forest": (dgtrees.DGTForestRegressor(n_estimators=8), SIZES),
    "boosting": (dgtrees.DGTBoostingClassifier(n_estimators=4), y),
    "boosting, linear leaves": (dgtrees.DGTBoostingRegressor(n_estimators=4, leaf="linear"), SIZES),
    "few labels": (dgtrees.DGTSelfTrainingClassifier(), FEW),
    "clusters": (dgtrees.DGTClusterer(n_clusters=3), None),
    "codes": (dgtrees.DGTAutoencoder(n_leaves=3), None),
}


@pytest.mark.parametrize("name", CASES)
def test_equations_are_solved_on_one_thread(name, monkeypatch):
    model, target = CASES[name]
    running = []

    def watched(function):
        @functools.wraps(function)
        def call(*args, **options):
            running.append(threads._OneThread.running)
            return function(*args, **options)

        return call

    for function in "solve", "eigh", "lstsq", "svd", "qr":
        monkeypatch.setattr(np.linalg, function, watched(getattr(np.linalg, function)))
    model.set_params(random_state=0).fit(X, target)
    assert running and min(running) > 0
