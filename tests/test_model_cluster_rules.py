"""Rules of clusters: what they claim of themselves is so."""

import numpy as np
import pandas as pd
import pytest

from dgtrees import DGTClassifier, DGTClusterer, describe_clusters
from unlabelled_rows import blobs


def test_separate_clusters_have_exact_rules():
    X = pd.DataFrame(blobs(count=3, d=2, spread=0.05), columns=["height", "age"])
    model = DGTClusterer(3, random_state=0).fit(X)
    for rule in describe_clusters(model, X):
        assert rule.rows == 80
        assert rule.coverage == rule.precision == 1.0
        assert all(condition.split()[0] in ("height", "age") for condition in rule.conditions)
        assert str(rule).startswith(f"cluster {rule.cluster} (80 rows): ")


def test_shares_are_those_of_the_rows_that_a_condition_holds_for():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    model = DGTClusterer(4, random_state=0).fit(X)
    for rule in model.rules(X, max_conditions=2):
        holds = np.ones(len(X), dtype=bool)
        for condition in rule.conditions:
            name, sign, number = condition.split()
            values = X[name].to_numpy()
            holds &= values >= float(number) if sign == ">=" else values < float(number)
        inside = model.predict(X) == rule.cluster
        assert rule.rows == inside.sum()
        assert np.isclose(rule.coverage, (holds & inside).sum() / inside.sum())
        assert np.isclose(rule.precision, (holds & inside).sum() / holds.sum())
        assert len(rule.conditions) <= 2


def test_categories_are_said_by_name():
    X = pd.DataFrame({"city": ["Oslo", "Rome"] * 30, "size": [0.0, 0.1, 0.1, 0.0] * 15})
    rules = DGTClusterer(2, random_state=0).fit(X).rules(X)
    said = {condition for rule in rules for condition in rule.conditions}
    assert all("city=" in condition and "0.5" not in condition for condition in said)


def test_other_models_and_no_conditions_are_refused():
    X = blobs(60, 2)
    with pytest.raises(TypeError, match="a model of clusters, got DGTClassifier"):
        describe_clusters(DGTClassifier(1, max_epochs=1).fit(X, np.arange(60) % 2), X)
    with pytest.raises(ValueError, match="max_conditions must be at least 1, got 0"):
        DGTClusterer(2).fit(X).rules(X, 0)
