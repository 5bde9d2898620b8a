"""DGTBagClassifier: what every multi-instance model must do, and all that models of dgtrees do."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from dgtrees import DGTBagClassifier, DGTClassifier, contributions, explain, export_text, load
from dgtrees.model.bag_explanation import explain_bag
from exported import COMPILER, CModel
from reference_bags import concept_bags

QUICK = {"max_leaves": 1, "random_state": 0}


def right_side(rows):
    return rows[:, 0] > 0.7


X, IDS, Y = concept_bags(60, right_side, seed=0)
FITTED = DGTBagClassifier(**QUICK).fit(X, Y, bags=IDS)
TREE = DGTBagClassifier(leaf="constant", max_leaves=4, random_state=0).fit(X, Y, bags=IDS)
SEVERAL = DGTBagClassifier(3, **QUICK).fit(X, Y, bags=IDS)
MODELS = [FITTED, TREE, SEVERAL, DGTBagClassifier(pooling="max", **QUICK).fit(X, Y, bags=IDS)]
NAMES = ["linear", "tree", "several", "max"]


# The tests of Raff and Holt (2023) of what a multi-instance model may not do


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_a_negative_bag_becomes_positive_with_a_positive_row(model):
    scores = model.instance_scores(X)
    positive = X[scores.argmax()][None]
    assert scores.max() > 0
    for bag in np.unique(IDS[np.isin(IDS, [f"bag {b}" for b in np.flatnonzero(Y == 0)])]):
        assert model.predict([np.vstack([X[bag == IDS], positive])]) == [1]
    crowd = np.repeat(X[scores.argmin()][None], 500, axis=0)
    assert model.predict([np.vstack([crowd, positive])]) == [1]


def poisoned(bags, seed, flipped=False):
    """Positive bags have a row of a concept; negative ones one that positive bags never have.

    Flipped, positive bags have it too: only a model that took it for the reason changes its mind.
    """
    random = np.random.default_rng(seed)
    tables, labels = [], np.arange(bags) % 2
    for label in labels:
        rows = random.normal(size=(random.integers(3, 8), 4))
        if label:
            rows[0, 0] += 4.0  # the concept, somewhat hard to see
        if label == 0 or flipped:
            rows[1, 1:] = 6.0  # the poison, easy to see
        tables.append(rows)
    return tables, labels


@pytest.mark.parametrize("options", [{"n_estimators": 1}, {"n_estimators": 5}, {"pooling": "max"}])
def test_rows_that_only_negative_bags_have_are_no_evidence(options):
    tables, labels = poisoned(120, seed=1)
    model = DGTBagClassifier(random_state=0, **options).fit(tables, labels)
    usual, y = poisoned(200, seed=2)
    flipped, _ = poisoned(200, seed=2, flipped=True)
    assert model.score(usual, y) > 0.8
    positive = y == 1
    before = model.decision_function([t for t, p in zip(usual, positive, strict=True) if p])
    after = model.decision_function([t for t, p in zip(flipped, positive, strict=True) if p])
    assert (after > 0).mean() > 0.8
    alone = [np.delete(t, 1, axis=0) for t, p in zip(usual, positive, strict=True) if p]
    # The poison takes the place of a row: what the others make is still there.
    assert (after >= model.decision_function(alone) - 1e-9).all() and len(before) == len(after)


def test_means_of_odds_are_for_those_who_ask():
    mean = DGTBagClassifier(pooling="mean", **QUICK).fit(X, Y, bags=IDS)
    assert mean.pooling_ == "mean" and mean.score(X, Y, bags=IDS) > 0.8
    scores = mean.instance_scores(X)
    crowd = np.repeat(X[scores.argmin()][None], 500, axis=0)
    assert mean.predict([np.vstack([crowd, X[scores.argmax()][None]])]) == [0]


# Input


def test_labels_and_bags_in_all_forms_are_the_same():
    tables = [X[f"bag {b}" == IDS] for b in range(60)]
    of_row = Y[[int(name.split()[1]) for name in IDS]]
    forms = [
        ((X, of_row), {"bags": IDS}),
        ((X, {f"bag {b}": label for b, label in enumerate(Y)}), {"bags": IDS}),
        ((tables, Y), {}),
    ]
    wanted = FITTED.predict_proba(X, bags=IDS)
    for given, bags in forms:
        found = clone(FITTED).fit(*given, **bags)
        assert np.array_equal(found.predict_proba(X, bags=IDS), wanted)
    assert np.array_equal(FITTED.predict_proba(tables), wanted)
    assert FITTED.score(tables, Y) == FITTED.score(X, of_row, bags=IDS) > 0.9
    assert np.mean(cross_val_score(clone(FITTED), tables, Y, cv=2)) > 0.8


def test_contradictions_and_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="all rows of a bag must have one label"):
        clone(FITTED).fit(X, np.arange(len(X)) % 2, bags=IDS)
    with pytest.raises(ValueError, match="2 classes"):
        clone(FITTED).fit(X, np.zeros(60), bags=IDS)
    with pytest.raises(ValueError, match="one model per label"):
        clone(FITTED).fit(X, np.arange(60) % 3, bags=IDS)
    for wrong in ({"n_estimators": 0}, {"max_leaves": 0}, {"leaf": "x"}, {"pooling": "median"}):
        with pytest.raises(ValueError, match="must be"):
            DGTBagClassifier(**wrong).fit(X, Y, bags=IDS)
    with pytest.raises(ValueError, match="at least 2"):
        DGTBagClassifier(leaf="constant", max_leaves=1).fit(X, Y, bags=IDS)
    of_rows = DGTClassifier(max_depth=1, max_epochs=1).fit(X, right_side(X))
    with pytest.raises(TypeError, match="bags must be left out"):
        of_rows.model_.predict(X, bags=IDS)


def test_frames_with_words_and_gaps():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["e"] = np.where(X[:, 1] > 0, "up", "down")
    frame.loc[::7, "b"] = np.nan
    words = np.where(Y == 1, "yes", "no")
    model = DGTBagClassifier(**QUICK).fit(frame, words, bags=pandas.Series(IDS))
    assert model.classes_.tolist() == ["no", "yes"] and model.score(frame, words, bags=IDS) > 0.9
    assert model.feature_importances_.argmax() == 0 and len(model.feature_importances_) == 5
    assert model.predict(frame, bags=IDS).tolist() == model.model_.predict(frame, IDS).tolist()
    assert "a = " in str(model.explain_bag(frame[IDS == "bag 1"]))


# The model


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_files_and_pickles_predict_the_same(model, tmp_path):
    wanted = model.predict_proba(X, bags=IDS)
    model.save(tmp_path / "clf.dgt")
    model.model_.save(tmp_path / "model.dgt")
    for found in (
        load(tmp_path / "clf.dgt"),
        load(tmp_path / "model.dgt"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert np.array_equal(found.predict_proba(X, bags=IDS), wanted)
        assert found.predict(X, IDS).tolist() == model.predict(X, bags=IDS).tolist()
    again = clone(model).fit(X, Y, bags=IDS)
    assert np.array_equal(again.predict_proba(X, bags=IDS), wanted)


@pytest.mark.parametrize("model", MODELS[:3], ids=NAMES[:3])
def test_exports_score_rows(model, tmp_path):
    pytest.importorskip("onnxruntime")
    from onnxruntime import InferenceSession

    from dgtrees import export_onnx

    far = np.vstack([X, 100.0 * X[:5]])  # beyond the reach of training
    wanted = model.predict_proba(far)
    export_onnx(model, tmp_path / "m.onnx")
    session = InferenceSession(tmp_path / "m.onnx")
    feed = {session.get_inputs()[0].name: far}
    outputs = dict(
        zip([o.name for o in session.get_outputs()], session.run(None, feed), strict=True)
    )
    found = np.log(outputs["probabilities"])
    assert found[:, 1] - found[:, 0] == pytest.approx(model.instance_scores(far), abs=1e-6)
    if COMPILER is not None:
        assert CModel(model, tmp_path).predict(far) == pytest.approx(wanted, abs=1e-12)


def test_distances_are_exported_and_drawn(tmp_path):
    middle, ids, labels = concept_bags(80, lambda rows: np.abs(rows[:, 0]) < 0.15, seed=3)
    model = DGTBagClassifier(**QUICK).fit(middle, labels, bags=ids)
    assert model.chosen_.plan.distances and model.score(middle, labels, bags=ids) > 0.8
    assert sum(name.startswith("|x0") for name in model.encoded_feature_names_) == 1
    assert "|x0" in export_text(model, max_weights=8)
    model.save(tmp_path / "m.dgt")
    assert np.array_equal(
        load(tmp_path / "m.dgt").instance_scores(middle), model.instance_scores(middle)
    )
    if COMPILER is not None:
        found = CModel(model, tmp_path).predict(middle)
        assert found == pytest.approx(model.predict_proba(middle), abs=1e-12)
    pytest.importorskip("onnxruntime")
    from onnxruntime import InferenceSession

    from dgtrees import export_onnx

    export_onnx(model, tmp_path / "m.onnx")
    session = InferenceSession(tmp_path / "m.onnx")
    label = session.run(None, {session.get_inputs()[0].name: middle})[0]
    assert label.ravel().tolist() == model.predict(middle).tolist()


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_the_decisive_row_and_why(model):
    scores = model.instance_scores(X)
    rows = model.decisive_rows(X, bags=IDS)
    assert [IDS[row] for row in rows] == list(dict.fromkeys(IDS))
    assert all(scores[row] == scores[IDS[row] == IDS].max() for row in rows)
    own = X[IDS == "bag 1"]
    told = model.explain_bag(own, max_rows=2)
    assert told.prediction == model.predict([own])[0] == 1
    assert told.rows[0].row == model.decisive_rows([own])[0]
    assert told.probability == pytest.approx(model.predict_proba([own])[0, 1])
    decisive = own[told.rows[0].row][None]
    moved = contributions(model, decisive, output="score").values[0]
    largest = np.abs(moved[:, 1] - moved[:, 0]).max()
    assert abs(told.pushes[0].push) == pytest.approx(largest)
    assert str(told).splitlines()[0].startswith("prediction: 1 (1 ")
    if len(model.forest_) == 1:
        assert told.path == explain(model, decisive[0]) and told.to_dict()["path"]["leaf"] >= 0
    with pytest.raises(ValueError, match="max_rows"):
        explain_bag(model, own, max_rows=0)


def test_rows_without_bags_are_bags_of_their_own():
    labels = right_side(X).astype(int)
    alone = DGTBagClassifier(**QUICK).fit(X, labels)
    assert alone.score(X, labels) > 0.9
    each = alone.predict_proba(X, bags=np.arange(len(X)))
    assert alone.predict_proba(X) == pytest.approx(each)
    assert alone.predict_row(X[0]) == alone.predict(X[:1])[0]
