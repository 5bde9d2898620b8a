"""DGTClusterer: as k-means where that is meant, one answer everywhere, files that refuse damage."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

import dgtrees
from dgtrees import DGTClusterer, contributions, explain, export_dot, export_text, plot_tree
from dgtrees.errors import ModelFileError
from dgtrees.model import file
from exported import COMPILER, CModel, OnnxModel
from unlabelled_rows import blobs


@pytest.fixture(scope="module")
def fitted():
    X = pd.DataFrame(blobs(spread=1.0), columns=["a", "b", "c", "d"])
    return X, DGTClusterer(6, random_state=0).fit(X)


def test_its_numbers_are_those_of_k_means(fitted):
    X, model = fitted
    assert model.tree_.n_leaves == 6
    centers = np.array([X[model.labels_ == k].mean() for k in range(6)])
    assert np.allclose(model.cluster_centers_, centers)
    assert np.array_equal(model.predict(X), model.labels_)
    away = np.linalg.norm(X.to_numpy()[:, None] - centers, axis=2)
    assert np.allclose(model.transform(X), away)
    cost = np.square(away[np.arange(len(X)), model.labels_]).sum()
    assert np.isclose(model.inertia_, cost)
    assert np.isclose(model.score(X), -cost)
    best = KMeans(6, n_init=10, random_state=0).fit(X).inertia_
    assert model.inertia_ < 1.05 * best
    assert model.predict_row(X.iloc[3].to_numpy()) == model.labels_[3]
    assert model.get_feature_names_out()[0] == "dgtclusterer0"


def test_weights_repeat_rows_and_units_are_what_standardize_is_for():
    X = blobs(90, 3, spread=1.0)
    weight = 1.0 + np.arange(90) % 3
    one = DGTClusterer(3, random_state=0).fit(X, sample_weight=weight)
    two = DGTClusterer(3, random_state=0).fit(np.repeat(X, weight.astype(int), axis=0))
    assert np.array_equal(one.predict(X), two.predict(X))
    np.testing.assert_allclose(one.feature_importances_, two.feature_importances_)
    scaled = X * [1.0, 1000.0, 1.0, 0.001]
    plain = DGTClusterer(3, standardize=True, random_state=0)
    assert np.array_equal(plain.fit_predict(X), plain.fit_predict(scaled))
    away = plain.fit(scaled).transform(scaled)
    assert np.isclose(plain.inertia_, np.square(away[np.arange(90), plain.labels_]).sum())


def test_units_whose_squares_are_infinite_or_0_are_what_standardize_is_for_too():
    X = blobs(90, 3, spread=1.0)
    whole = DGTClusterer(3, standardize=True, random_state=0).fit(X)
    for size in (1e200, 1e-200):
        sized = DGTClusterer(3, standardize=True, random_state=0).fit(size * X)
        assert sized.inertia_ == pytest.approx(whole.inertia_, rel=0.01)
        assert sized.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"at most 1e\+50, got .*e\+200: set standardize=True"):
        DGTClusterer(3).fit(1e200 * X)


@pytest.mark.parametrize("clusters", [1, 2, 12])
def test_any_number_of_clusters(clusters):
    X = blobs(12, 5)
    model = DGTClusterer(clusters, random_state=0).fit(X)
    assert np.array_equal(np.unique(model.labels_), np.arange(clusters))


def test_too_few_rows_and_wrong_parameters_are_told():
    with pytest.raises(ValueError, match="n_clusters must be at most the number of rows"):
        DGTClusterer(5).fit(np.eye(4))
    with pytest.warns(ConvergenceWarning, match="got 2 distinct ones for n_clusters=4"):
        model = DGTClusterer(4, random_state=0).fit(np.repeat(np.eye(2), 5, axis=0))
    assert model.tree_.n_leaves == 2
    with pytest.raises(ValueError, match="balance must be a number of at least 0, got -1"):
        DGTClusterer(2, balance=-1).fit(np.eye(4))


def test_tables_with_gaps_and_names_are_welcome():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice(["Oslo", "Rome"], 80), "age": rng.normal(40, 9, 80)})
    X.loc[::7, "age"] = np.nan
    model = DGTClusterer(4, standardize=True, random_state=0).fit(X)
    assert model.predict(X).tolist() == model.labels_.tolist()
    assert "city=" in export_text(model)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_file_onnx_and_c_give_the_same_clusters(fitted, tmp_path):
    pytest.importorskip("onnxruntime")
    X, model = fitted
    model.save(tmp_path / "m.dgt")
    loaded = dgtrees.load(tmp_path / "m.dgt")
    assert isinstance(loaded, DGTClusterer)
    assert loaded.predict(X).tolist() == model.labels_.tolist()
    assert np.array_equal(loaded.transform(X), model.transform(X))
    assert loaded.inertia_ == model.inertia_
    model.model_.save(tmp_path / "bare.dgt")
    bare = dgtrees.load(tmp_path / "bare.dgt")
    assert bare.predict(X).tolist() == model.labels_.tolist()
    answers, compiled = OnnxModel(model).run(X.to_numpy()), CModel(model, tmp_path)
    for found in (answers["label"], answers["leaf"], compiled.label(X), compiled.apply(X)):
        assert found.tolist() == model.labels_.tolist()
    assert compiled.predict(X)[:, 0].tolist() == model.labels_.tolist()


def changed(header, arrays, what):
    if what == "centres":
        arrays["clusters.centers"] = arrays["clusters.centers"][:-1]
    elif what == "infinite":
        arrays["clusters.centers"] = np.full_like(arrays["clusters.centers"], np.inf)
    elif what == "scale":
        arrays["clusters.scale"] = np.zeros(4)
    elif what == "leaves":
        arrays["tree.leaf_values"] = arrays["tree.leaf_values"][::-1]
    elif what == "bases":
        arrays["clusters.bases"] = np.zeros((6, 0, 4))
    else:
        header["n_clusters"] = 7


@pytest.mark.parametrize("what", ["centres", "infinite", "scale", "leaves", "bases", "number"])
def test_a_file_whose_parts_do_not_fit_is_refused(fitted, tmp_path, what):
    _, model = fitted
    model.save(tmp_path / "m.dgt")
    header, arrays = file.read(tmp_path / "m.dgt")
    changed(header, arrays, what)
    for name in ("arrays", "array_bytes", "library_version"):
        header.pop(name)
    file.write(tmp_path / "m.dgt", header, arrays)
    with pytest.raises(ModelFileError, match="not a valid DGTClusterer"):
        dgtrees.load(tmp_path / "m.dgt")


def test_it_is_explained_drawn_and_described_in_words(fitted):
    X, model = fitted
    words = model.model_.leaf_words()
    assert len(words) == 6
    found = explain(model, X.iloc[0])
    assert found.prediction == model.labels_[0]
    assert words[model.labels_[0]] in str(found)
    assert found.to_dict()["about"] == found.about
    text = export_text(model)
    assert all(word in text for word in words)
    assert "cluster 5\\n" in export_dot(model)
    axes = plot_tree(model)
    said = [text.get_text() for text in axes.texts]
    assert "cluster" in said
    assert sum(" sd " in text for text in said) == 6
    with pytest.raises(TypeError, match="use explain"):
        contributions(model, X)


def test_gaps_are_filled_and_infinite_rows_refused_in_prediction():
    X = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    model = DGTClusterer(6, random_state=0).fit(X)
    gap = X[:20].copy()
    gap[3, 1] = np.nan
    filled = gap.copy()
    filled[3, 1] = model.model_.encoder.medians[1]
    assert np.array_equal(model.predict(gap), model.predict(filled))
    assert np.array_equal(model.predict(gap), model.model_.predict(gap))
    gap[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(gap)
    with pytest.raises(ValueError, match="4 features"):
        model.predict(X[:, :3])
