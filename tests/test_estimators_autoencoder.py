"""DGTAutoencoder: codes come back as rows, and the tree never raises the error."""

import numpy as np
import pytest

import dgtrees
from dgtrees import DGTAutoencoder
from unlabelled_rows import blobs


@pytest.fixture(scope="module")
def fitted():
    X = blobs(300, 5, d=6, spread=1.0)
    return X, DGTAutoencoder(n_leaves=5, rank=2, random_state=0).fit(X)


def test_codes_are_places_along_orthonormal_directions(fitted):
    X, model = fitted
    leaves, codes = model.encode(X)
    assert np.array_equal(leaves, model.labels_)
    for leaf, basis in enumerate(model.components_):
        assert np.allclose(basis @ basis.T, np.eye(2))
        mine = leaves == leaf
        assert np.allclose(codes[mine], (X[mine] - model.means_[leaf]) @ basis.T)
    back = model.inverse_transform(model.transform(X))
    assert np.array_equal(back, model.decode(leaves, codes))
    error = np.square(X - back).sum(axis=1)
    assert np.isclose(model.reconstruction_error(X), error.mean())
    assert np.isclose(model.inertia_, error.sum())
    assert (np.diff(model.history_["cost"]) <= 1e-9).all()


def test_rows_that_a_code_can_hold_come_back_whole():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 1)) * [1.0, 0.0, 0.0] + [0.0, 9.0, 0.0],
                        rng.normal(size=(50, 1)) * [0.0, 0.0, 1.0] - [0.0, 9.0, 0.0]])  # fmt: skip
    model = DGTAutoencoder(n_leaves=2, rank=1, standardize=True, random_state=0).fit(X)
    assert np.allclose(model.inverse_transform(model.transform(X)), X)


def test_saved_and_loaded(fitted, tmp_path):
    X, model = fitted
    model.save(tmp_path / "m.dgt")
    loaded = dgtrees.load(tmp_path / "m.dgt")
    assert np.array_equal(loaded.transform(X), model.transform(X))
    assert loaded.reconstruction_error(X) == model.reconstruction_error(X)


def test_what_is_no_code_is_refused(fitted):
    _, model = fitted
    with pytest.raises(ValueError, match="X must have 3 columns"):
        model.inverse_transform(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="whole numbers from 0 to 4"):
        model.decode([5], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1, got 0"):
        DGTAutoencoder(2, 0).fit(np.eye(4))
