"""A small fitted model of every kind that is saved, and what it answers, as plain values."""

from dataclasses import replace

import numpy as np

from dgtrees import (
    DGTAutoencoder,
    DGTBagClassifier,
    DGTBandit,
    DGTBoostingClassifier,
    DGTBoostingRegressor,
    DGTClassifier,
    DGTClusterer,
    DGTContinuousBandit,
    DGTForestClassifier,
    DGTForestRegressor,
    DGTRegressor,
    DGTSelfTrainingClassifier,
    DGTSelfTrainingRegressor,
    Recipe,
)
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.errors import StateError
from dgtrees.paper.baselines import TAOClassifier, TAORegressor
from dgtrees.tables.encoder import Encoder, columns_of

QUICK = {"max_depth": 2, "max_epochs": 2, "random_state": 0}


def numbers(rows=40, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 3))


def mixed(rows=40):
    """Numbers, numbers with gaps, and names."""
    X = numbers(rows).astype(object)
    X[::4, 1] = np.nan
    X[:, 2] = np.where(numbers(rows)[:, 2] > 0, "red", "blue")
    return X


def frame(rows=40):
    import pandas as pd

    return pd.DataFrame(mixed(rows), columns=["a", "b", "c"]).astype({"a": float, "b": float})


def answered(policy, X, loss):
    for x in X:
        decision = policy.decide(x)
        policy.learn(x, decision, loss(decision))
    return policy


def encoded_policy():
    encoder = Encoder(min_frequency=1).fit(columns_of(mixed()))
    policy = DGTBandit(2, 2, "constant", encoder=encoder, random_state=0)
    return answered(policy, mixed(), lambda d: float(d.action))


def remembering_policy():
    recipe = replace(RECIPES["default"]["linear"], capacity=8, replay=2)
    policy = DGTBandit(3, 2, "linear", recipe=recipe, random_state=1)
    return answered(policy, numbers(), lambda d: d.action / 2)


def continuous_policy():
    policy = DGTContinuousBandit(0.0, 10.0, 2, feedback="two-point", random_state=2)
    return answered(policy, numbers(), lambda d: [(a - 3.0) ** 2 for a in d.actions])


def paper_policy():
    policy = DGTBandit(2, 1, recipe="paper", loss_range=(-1.0, 2.0), random_state=3)
    return answered(policy, numbers(), lambda d: float(d.action))


def made():
    """Name to a fitted model and the rows to ask it about."""
    X, named = numbers(), frame()
    several = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)
    words = np.where(X[:, 0] > 0, "left", "right")
    few = np.arange(len(X)) < 12
    recipe = Recipe(n_layers=1, restarts=1, epochs=2)
    models = {
        "tree": (DGTClassifier(**QUICK).fit(named, words), named),
        "tree-numbers": (DGTClassifier(**QUICK, leaf="linear").fit(X, X[:, 0] > 0), X),
        "values": (DGTRegressor(max_depth=2, recipe=recipe, random_state=0).fit(X, several), X),
        "linear": (DGTRegressor(**QUICK, leaf="linear").fit(named, X[:, 0]), named),
        "forest": (
            DGTForestClassifier(3, **QUICK, class_weight={0: 1.0, 1: 2.0, 2: 1.0}).fit(
                X, np.arange(40) % 3
            ),
            X,
        ),
        "forest-values": (DGTForestRegressor(3, **QUICK, oob_score=True).fit(X, several), X),
        "forest-linear": (DGTForestRegressor(2, **QUICK, leaf="linear").fit(named, X[:, 0]), named),
        "forest-chosen": (
            DGTForestClassifier(3, class_weight={0: 1.0, 1: 2.0}, random_state=0).fit(
                X, (X[:, 0] > 0).astype(int)
            ),
            X,
        ),
        "boosting": (DGTBoostingClassifier(5, random_state=0).fit(named, words), named),
        "boosting-values": (DGTBoostingRegressor(5, random_state=0).fit(X, several), X),
        "boosting-linear": (
            DGTBoostingRegressor(5, linear=True, random_state=0).fit(named, X[:, 0]),
            named,
        ),
        "self-training": (
            DGTSelfTrainingClassifier(**QUICK, n_neighbors=3).fit(
                named, np.where(few, words, None)
            ),
            named,
        ),
        "self-training-values": (
            DGTSelfTrainingRegressor(**QUICK, n_neighbors=3).fit(
                X, np.where(few[:, None], several, np.nan)
            ),
            X,
        ),
        "clusters": (DGTClusterer(4, standardize=True, random_state=0).fit(named), named),
        "codes": (DGTAutoencoder(3, 2, random_state=0).fit(X), X),
        "bags": (DGTBagClassifier(max_leaves=1, random_state=0).fit(named, words), named),
        "bags-several": (DGTBagClassifier(2, leaf="constant", random_state=0).fit(X, words), X),
        "tao": (TAOClassifier(max_depth=2, random_state=0).fit(X, words), X),
        "tao-values": (TAORegressor(2, alpha=(3.0, 1.0), random_state=0).fit(X, X[:, 0]), X),
        "policy": (encoded_policy(), mixed()),
        "policy-linear": (remembering_policy(), X),
        "policy-paper": (paper_policy(), X),
        "policy-new": (DGTBandit(2, 2, "constant", random_state=0), X),
        "policy-continuous": (continuous_policy(), X),
    }  # fmt: skip
    return {name: (model, X[:12]) for name, (model, X) in models.items()}


def answers(model, X):
    """Everything that a model says about rows, as lists and numbers."""
    said = {}
    for way in (
        "predict",
        "predict_proba",
        "expected_loss",
        "action_probabilities",
        "apply",
        "transform",
    ):
        if hasattr(model, way):
            try:
                said[way] = getattr(model, way)(X).tolist()
            except StateError as error:
                said[way] = str(error)
    return said
