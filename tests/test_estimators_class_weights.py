"""Class weights: they decide, and probabilities stay those of the rows."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import dgtrees
from dgtrees import DGTBoostingClassifier, DGTClassifier, DGTForestClassifier, export_text
from dgtrees.errors import ModelFileError
from dgtrees.model import file as model_file
from exported import COMPILER, CModel, OnnxModel

MODELS = {
    "chosen": DGTClassifier(random_state=0, max_leaves=8),
    "chosen, constant": DGTClassifier(random_state=0, leaf="constant", max_leaves=8),
    "a height": DGTClassifier(3, max_epochs=20, random_state=0),
    "linear leaves": DGTClassifier(3, max_epochs=20, leaf="linear", random_state=0),
    "forest": DGTForestClassifier(4, 3, max_epochs=15, random_state=0),
    "hard voting": DGTForestClassifier(4, 3, max_epochs=15, voting="hard", random_state=0),
}
HONEST = [name for name in MODELS if name != "hard voting"]


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (rng.random(n) < 1 / (1 + np.exp(3.0 - 2 * X[:, 0]))).astype(int)
    return X, np.array(["no", "yes"])[y]


def fitted(name, weight):
    return MODELS[name].set_params(class_weight=weight).fit(*rows())


@pytest.mark.parametrize("weight", ["balanced", {"no": 1.0, "yes": 20.0}], ids=["balanced", "dict"])
@pytest.mark.parametrize("name", HONEST)
def test_probabilities_are_those_of_the_rows_and_decisions_have_the_weights(name, weight):
    X, y = rows(seed=1)
    plain = fitted(name, None)
    known, called = log_loss(y, plain.predict_proba(X)), (plain.predict(X) == "yes").mean()
    model = fitted(name, weight)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx((y == "yes").mean(), abs=0.04)
    assert log_loss(y, model.predict_proba(X)) < known + 0.05
    assert (model.predict(X) == "yes").mean() > called + 0.05


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", MODELS)
def test_file_onnx_and_c_decide_as_python_does(name, tmp_path):
    pytest.importorskip("onnxruntime")
    model, (X, _) = fitted(name, {"no": 1.0, "yes": 7.3}), rows(seed=1)
    model.save(tmp_path / "model.dgt")
    loaded = dgtrees.load(tmp_path / "model.dgt")
    compiled, graph = CModel(model, tmp_path), OnnxModel(model).run(X)
    labels, shares = model.predict(X), model.predict_proba(X)
    assert np.array_equal(loaded.predict(X), labels)
    assert np.array_equal(loaded.predict_proba(X), shares)
    assert np.array_equal(model.classes_[compiled.label(X)], labels)
    assert np.array_equal(graph["label"], labels)
    assert np.abs(compiled.predict(X) - shares).max() <= 1e-15
    assert np.abs(graph["probabilities"] - shares).max() <= 1e-15
    assert [model.predict_row(x) for x in X[:20]] == labels[:20].tolist()
    assert np.array_equal(model.model_.predict(X), labels)


@pytest.mark.parametrize("name", ["chosen, constant", "a height"])
def test_rules_name_the_class_that_is_predicted(name):
    model, (X, _) = fitted(name, {"no": 1.0, "yes": 20.0}), rows()
    told = [line.split()[-1] for line in export_text(model).splitlines() if "class:" in line]
    assert set(told) == set(model.predict(X))


def test_votes_stay_votes():
    X, _ = rows()
    shares = fitted("hard voting", {"no": 1.0, "yes": 20.0}).predict_proba(X)
    assert np.isin(shares, np.arange(5) / 4).all()


def test_trees_that_are_added_to_a_forest_are_corrected_once():
    X, y = rows()
    grown = DGTForestClassifier(
        2, 3, max_epochs=3, class_weight="balanced", warm_start=True, random_state=0
    ).fit(X, y)
    grown.set_params(n_estimators=4).fit(X, y)
    at_once = DGTForestClassifier(4, 3, max_epochs=3, class_weight="balanced", random_state=0)
    assert np.array_equal(at_once.fit(X, y).predict_proba(X), grown.predict_proba(X))


def test_equal_weights_are_none():
    X, y = rows(400)
    one, two = (
        DGTClassifier(3, max_epochs=3, random_state=0, class_weight=w)
        for w in (None, {"no": 2, "yes": 2})
    )
    one.fit(X, y)
    two.fit(X, y)
    assert two.model_.answer.factors is None
    np.testing.assert_allclose(two.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("factors", [[1.0], [1.0, 0.0], [1.0, -2.0], ["a", 1.0]])
def test_files_with_other_factors_are_refused(factors, tmp_path):
    model = fitted("a height", {"no": 1.0, "yes": 3.0})
    path = tmp_path / "model.dgt"
    model.save(path)
    header, arrays = model_file.read(path)
    for name in ("arrays", "array_bytes", "library_version"):
        header.pop(name, None)
    model_file.write(path, header | {"class_factors": factors}, arrays)
    with pytest.raises(ModelFileError, match="class_factors"):
        dgtrees.load(path)


@pytest.mark.parametrize("model", [DGTClassifier(1, max_epochs=1), DGTBoostingClassifier(2)])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"no": 0.0, "yes": 0.0},
            "class_weight must be above 0 for a class that has training rows, got 0",
        ),
        ({"no": -1.0, "yes": 1.0}, "class_weight must be finite and at least 0, got -1.0"),
    ],
)
def test_weights_that_leave_nothing_to_learn_from_are_refused(model, given, said):
    X, y = rows(100)
    with pytest.raises(ValueError, match=said):
        model.set_params(class_weight=given).fit(X, y)
